import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { lease_ms } from "../../src/state/leases.ts";
import { createFolder } from "../support/command.ts";
import {
  applyKilled,
  expectDone,
  finish,
  listNamed,
  plan,
  withProcess,
  type Named,
  type Site,
} from "../support/job-site.ts";
import { connectV2, type Connected } from "../support/mcp-clients.ts";
import { openGround, type Ground } from "../support/mcp-ground.ts";
import { buildProgram, type Program } from "../support/program.ts";
import { openWriteLog } from "../support/write-log.ts";
import { createChance, type Chance } from "./simulator/chance.ts";

/**
 * kill -9 at fifty random moments of a run: real processes on real files, without the pauses that
 * a budget asks for. The service's own database counts what was done to each link.
 */

const seed = Number(process.env["KILL_SEED"] ?? Date.now() % 1_000_000);
const killsEach = 25;
/** The next one is let live, so that each kind of run is met. */
const mostKillsOfRun = 8;
const most = { writes: 30, pause_ms: 30 } as const;
/** Half of them are there before the plan. So few that no budget of the key is ever spent. */
const rows = 150;

let program: Program;
let served: Ground;

beforeAll(async () => {
  program = await buildProgram(new URL("unpaced-stdio.ts", import.meta.url));
  served = await openGround();
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await program[Symbol.asyncDispose]();
});

test.concurrent.each(["embedded", "served"] as const)(
  `a job that is killed again and again does each row once (%s, KILL_SEED=${seed})`,
  async (kind) => {
    const chance = createChance(seed, kind);
    let kills = 0;
    while (kills < killsEach) {
      await using folder = await createFolder();
      const site = kind === "embedded" ? await openOwn(folder.path) : await openOther(folder.path);
      kills += await playBothWays(site, chance, killsEach - kills);
      site.log.close();
    }
    expect(kills).toBe(killsEach);
  },
  300_000,
);

/** Links are changed and made, and then put back and taken away; answers the number of kills. */
async function playBothWays(site: Site, chance: Chance, left: number): Promise<number> {
  const old = listNamed("old", rows / 2);
  const wanted = listNamed("new", rows);
  const forth = await withProcess(site, async (client) => {
    await finish(client, await plan(client, { operation: "upsert", rows: old }));
    await site.log.take();
    return plan(client, { operation: "upsert", rows: wanted });
  });
  const first = await killOften(site, forth, chance, left);
  const back = await withProcess(site, async (client) => {
    const job = await finish(client, forth);
    await expectWritten(site, client, job, wanted, listWrites(old, wanted, "create"));
    return plan(client, { undo: job });
  });
  const second = await killOften(site, back, chance, left - first);
  await withProcess(site, async (client) => {
    const job = await finish(client, back);
    await expectWritten(site, client, job, old, listWrites(old, wanted, "delete"));
  });
  return first + second;
}

async function expectWritten(
  { log }: Site,
  client: Connected,
  job: string,
  wanted: readonly Named[],
  planned: readonly string[],
): Promise<void> {
  await expectDone(client, job, wanted, { written: await log.take(), planned });
}

function listWrites(old: readonly Named[], wanted: readonly Named[], act: string) {
  const isOld = (path: string) => old.some((named) => named.path === path);
  return wanted.map(({ path }) => `${isOld(path) ? "update" : act} ${path}`);
}

async function killOften(
  site: Site,
  plan_id: string,
  chance: Chance,
  left: number,
): Promise<number> {
  const wanted = Math.min(left, mostKillsOfRun);
  for (let kills = 0; kills < wanted; kills += 1) {
    const answer = await applyKilled(site, plan_id, chance, most);
    // It was done before its time had come.
    if (answer !== undefined) return kills;
  }
  return wanted;
}

/** A service of its own in the same process. */
async function openOwn(data: string): Promise<Site> {
  const start = prepareStart(data, [], {});
  // The first start makes the database.
  await (await start()).close();
  return { start, log: await openWriteLog(join(data, "waypost.db")) };
}

/** `waypost serve` as the deployment, with a project and a key of its own. */
async function openOther(data: string): Promise<Site> {
  const { key } = await served.addTenant();
  const words = ["--base-url", served.serving.places.url];
  return {
    start: prepareStart(data, words, { WAYPOST_API_KEY: key }),
    log: await openWriteLog(join(served.data, "waypost.db")),
  };
}

function prepareStart(
  data: string,
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): Site["start"] {
  let ahead_ms = 0;
  return () => {
    ahead_ms += lease_ms;
    const given = ["--data", data, "--mode", "full", "--ahead", String(ahead_ms), ...words];
    return connectV2({ transport: "stdio", program: program.file, words: given, env });
  };
}
