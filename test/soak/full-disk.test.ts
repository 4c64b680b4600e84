import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { ask } from "../bench/load/ask.ts";
import { makeFolder } from "../bench/leftovers.ts";
import { waitUntil } from "../support/clock.ts";
import { openChance, scale } from "./extent.ts";
import { describeAnswer, keepAsking } from "./keep-asking.ts";
import { createLedger } from "./ledger.ts";
import { openSite } from "./site.ts";

/** A real disk of 96 MB that is filled and emptied. */

const chance = openChance("full-disk");

test.skipIf(!canMount())(
  "on a full disk no write is lost, reads succeed, and writes succeed once space is free",
  async () => {
    await using site = await openSite(undefined);
    const { keys } = await site.addBenchProject("full", scale(250, 20));
    using disk = makeFolder();
    const data = join(disk.path, "data");
    mkdirSync(data, { mode: 0o700 });
    await using server = await site.serve({ data, under: mountUnder(site.folder, data) });
    // The mount exists only for the server's process.
    const filler = join("/proc", String(server.pid), "root", data, "filler");
    const [token = ""] = keys;
    const list = { path: "/api/v1/links?limit=5", token };
    const ledger = createLedger(keys, { messages: [messages.store_full] });
    const { nextWrite, nextCall, hear, readAcknowledged } = ledger;
    const unread: string[] = [];
    const loads = [
      keepAsking(server, { askers: 4, next: nextWrite, hear }),
      keepAsking(server, { askers: 2, next: nextCall, hear }),
      keepAsking(server, {
        askers: 1,
        next: () => list,
        hear: (_, answer) => {
          if (answer instanceof Error || answer.status !== 200) unread.push(describeAnswer(answer));
        },
      }),
    ];
    for (let turn = 0; turn < scale(10, 1); turn += 1) {
      await setTimeout(chance.between(100, 400));
      fill(filler);
      await setTimeout(chance.between(200, scale(2000, 400)));
      rmSync(filler);
      const before = readAcknowledged();
      await waitUntil(() => readAcknowledged() > before);
    }
    await Promise.all(loads.map(({ stop }) => stop()));
    ledger.expectTrue(await readAll(server, token));
    expect(unread).toEqual([]);
  },
);

type Row = { readonly name: string | null };

/** Through the API, because the disk is gone when the server stops. */
async function readAll(server: { readonly url: string }, token: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let page = 1; ; page += 1) {
    const { body } = await ask(server, { path: `/api/v1/links?limit=100&page=${page}`, token });
    const { links } = JSON.parse(body) as { readonly links: readonly Row[] };
    if (links.length === 0) return rows;
    rows.push(...links);
  }
}

function canMount(): boolean {
  const words = ["-m", "mount", "-t", "tmpfs", "none", tmpdir()];
  return spawnSync("unshare", words).status === 0;
}

/** The disk exists only for this process, and is gone with it. */
function mountUnder(from: string, to: string): readonly string[] {
  const mounted = 'mount -t tmpfs -o size=96m,mode=0700 none "$2" && cp -a "$1"/. "$2"/';
  return ["unshare", "-m", "sh", "-c", `${mounted} && shift 2 && exec "$@"`, "sh", from, to];
}

function fill(path: string): void {
  const file = openSync(path, "w");
  try {
    for (const size of [1 << 20, 1 << 12, 1]) fillWith(file, Buffer.alloc(size));
  } finally {
    closeSync(file);
  }
}

function fillWith(file: number, bytes: Buffer): void {
  try {
    for (;;) writeSync(file, bytes);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
  }
}
