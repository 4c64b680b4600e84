import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { messages } from "../../../src/contract/messages.ts";
import { makeFolder } from "../../bench/leftovers.ts";
import { startPostgres, type PostgresServer } from "../../support/postgres-server.ts";
import { checkReady } from "../check-ready.ts";
import { none, note } from "../check.ts";
import type { Fault } from "../fault.ts";
import { keepAsking } from "../keep-asking.ts";
import { createLedger, type Ledger } from "../ledger.ts";
import { openSite } from "../site.ts";
import { canMount, fill, noDisk, notPlayed } from "./full-disk.ts";

/** A real disk of 512 MB under the database alone, which others fill and empty again. */
export const fullPostgres: Fault = {
  name: "full-postgres",
  what: "the disk of PostgreSQL is full, has room again, and is full once more",
  engines: ["postgres"],
  play: async ({ scale, chance }) => {
    if (!canMount()) return [note(notPlayed, noDisk)];
    using disk = mountDisk();
    const postgres = await startPostgres(disk.path);
    await using site = await openSite(postgres);
    const { keys } = await site.addPlot("full", scale(250, 20));
    await using server = await site.serve();
    const [token = ""] = keys;
    const list = { path: "/api/v1/links?limit=5", token };
    const signIn = { path: "/sign-in", headers: { accept: "text/html" } };
    const ledger = createLedger(keys, { messages: [messages.store_full] });
    const { nextWrite, nextCall, hear, check } = ledger;
    const loads = [
      keepAsking(server, { askers: 4, next: nextWrite, hear }),
      // A call looks for seconds whether a write came in the end that had failed.
      keepAsking(server, { askers: scale(2, 0), next: nextCall, hear }),
      keepAsking(server, { askers: 1, next: () => list, hear }),
      keepAsking(server, { askers: 1, next: () => signIn, hear }),
    ];
    const stuck: string[] = [];
    const rounds = scale(6, 1);
    let ends = 0;
    for (let turn = 0; turn < rounds; turn += 1) {
      await setTimeout(chance.between(300, 1000));
      const filler = join(disk.path, "filler");
      fill(filler);
      await setTimeout(chance.between(scale(1000, 300), scale(8000, 800)));
      rmSync(filler);
      // Without room for its log it ends, and whoever runs it starts it again.
      if (await startAgain(postgres)) ends += 1;
      if (!(await writesAgain(ledger))) stuck.push(`in round ${turn + 1}`);
    }
    await Promise.all(loads.map(({ stop }) => stop()));
    const ready = await checkReady(server);
    await server[Symbol.asyncDispose]();
    const links = await site.readLinks();
    await postgres.stop();
    return [
      note("times full", rounds),
      note("times that PostgreSQL ended", ends),
      ...check(links),
      none("no writes when there was room again", stuck),
      ready,
    ];
  },
};

const patience_ms = 30_000;

async function writesAgain({ readAcknowledged }: Ledger): Promise<boolean> {
  const before = readAcknowledged();
  const given = performance.now() + patience_ms;
  while (readAcknowledged() === before && performance.now() < given) await setTimeout(5);
  return readAcknowledged() > before;
}

async function startAgain({ isOver, start }: PostgresServer): Promise<boolean> {
  if (!isOver()) return false;
  await start();
  return true;
}

function mountDisk(): { readonly path: string } & Disposable {
  const folder = makeFolder();
  run("mount", "-t", "tmpfs", "-o", "size=512m,mode=0755", "none", folder.path);
  return {
    path: folder.path,
    [Symbol.dispose]: () => {
      run("umount", "--lazy", folder.path);
      folder[Symbol.dispose]();
    },
  };
}

function run(program: string, ...words: readonly string[]): void {
  const { status, stderr } = spawnSync(program, words, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program}: ${stderr}`);
}
