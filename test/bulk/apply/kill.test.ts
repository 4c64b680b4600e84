import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import type { PlanInput } from "../../../src/bulk/plan/make-plan.ts";
import { links, type ReadLink } from "../../../src/contract/links.ts";
import { lease_ms } from "../../../src/state/job-runs.ts";
import type { Job } from "../../../src/state/jobs.ts";
import type { Plan } from "../../../src/state/plans.ts";
import { createFolder } from "../../support/command.ts";
import { openTestServer, type TestServer } from "../../support/mcp-http.ts";
import { buildProgram, type Program } from "../program.ts";
import { createChance, type Chance } from "../../support/chance.ts";
import { openDesk, type UnpacedDesk } from "../unpaced-bulk.ts";
import { openDatabase } from "../../../src/sql/engine.ts";
import { retryWhileBusy } from "../../../src/sql/faults.ts";
import { openForAll } from "../../support/open-for.ts";

/** Kills jobs with kill -9 at random moments. The database counts the writes to each link. */

/** A log of writes to links, which triggers write in the same transaction. */
type WriteLog = {
  /** Returns new lines such as "create a", "update b" and "delete c", in order. */
  readonly take: () => Promise<readonly string[]>;
  /** The number of lines that were not returned yet. */
  readonly count: () => Promise<number>;
  readonly close: () => void;
};

const acts = [
  { act: "create", event: "insert", row: "new" },
  { act: "update", event: "update", row: "new" },
  { act: "delete", event: "delete", row: "old" },
] as const;

async function openWriteLog(file: string): Promise<WriteLog> {
  const database = openDatabase(file);
  await perform(() => database.exec("create table if not exists test_writes (line text not null)"));
  for (const { act, event, row } of acts) {
    const body = `insert into test_writes values ('${act} ' || ${row}.path);`;
    const trigger = `trigger if not exists test_${act} after ${event} on links`;
    await perform(() => database.exec(`create ${trigger} begin ${body} end`));
  }
  return {
    take: async () => {
      // One transaction, so that no line is deleted before it is returned.
      const rows = await perform(() => {
        return database.prepare(takeLines).all() as readonly { rowid: number; line: string }[];
      });
      return rows.toSorted((one, other) => one.rowid - other.rowid).map(({ line }) => line);
    },
    count: async () => {
      const rows = await perform(() => database.prepare(countLines).all());
      return (rows as readonly { count: number }[])[0]?.count ?? 0;
    },
    close: () => database.close(),
  };
}

const takeLines = "delete from test_writes returning rowid, line";
const countLines = "select count(*) as count from test_writes";

/** Retries work while another process has the file locked. */
function perform<Result>(work: () => Result): Promise<Result> {
  return retryWhileBusy(work);
}

const seed = Number(process.env["KILL_SEED"] ?? randomInt(1_000_000));
const killsEach = 12;
/** The run after the last kill ends normally, so that each kind of run occurs. */
const mostKillsOfRun = 8;
const most = { writes: 30, pause_ms: 30 } as const;
/** Half of the links exist before the plan. So few links never exceed the key's budget. */
const rows = 150;

let program: Program;
let served: TestServer;

openForAll(openTestServer, async (opened, keep) => {
  served = opened;
  program = keep(await buildProgram(new URL("../apply-plan.ts", import.meta.url)));
});

test.concurrent.each(["embedded", "served"] as const)(
  `a job killed repeatedly still applies each row once (%s, KILL_SEED=${seed})`,
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

/** A data folder in which processes run a job one after another, each with a later clock. */
type Site = {
  /** What the service wrote, even if its caller was killed. */
  readonly log: WriteLog;
  readonly open: () => Promise<UnpacedDesk>;
  readonly start: (plan: Plan) => ApplyProcess;
};

type ApplyProcess = {
  readonly begun: Promise<unknown>;
  readonly kill: () => void;
  /** Resolves with the exit code, or null after a signal. */
  readonly ended: Promise<number | null>;
};

/** Upserts links, undoes that, and returns the number of kills. */
async function playBothWays(site: Site, chance: Chance, left: number): Promise<number> {
  const old = listNamed("old", rows / 2);
  const wanted = listNamed("new", rows);
  const forth = await withBulk(site, async (desk) => {
    await finish(desk, await plan(desk, { operation: "upsert", source: { rows: old } }));
    await site.log.take();
    return plan(desk, { operation: "upsert", source: { rows: wanted } });
  });
  const first = await killOften(site, forth, chance, left);
  const back = await withBulk(site, async (desk) => {
    const job = await finish(desk, forth);
    await expectDone(site, desk, job, wanted, listWrites(old, wanted, "create"));
    return plan(desk, { undo: job });
  });
  const second = await killOften(site, back, chance, left - first);
  await withBulk(site, async (desk) => {
    const job = await finish(desk, back);
    await expectDone(site, desk, job, old, listWrites(old, wanted, "delete"));
  });
  return first + second;
}

async function withBulk<Result>(
  { open }: Site,
  act: (desk: UnpacedDesk) => Promise<Result>,
): Promise<Result> {
  await using desk = await open();
  return await act(desk);
}

async function plan({ bulk, owner }: UnpacedDesk, wanted: PlanInput): Promise<Plan> {
  const made = await bulk.plan(wanted, owner);
  expect(made.counts).toMatchObject({ invalid: 0, conflict: 0 });
  return made;
}

async function finish({ run }: UnpacedDesk, made: Plan): Promise<Job> {
  const job = await run(made);
  expect(job).toMatchObject({ plan_id: made.id, state: "done" });
  return job;
}

async function expectDone(
  { log }: Site,
  { bulk, owner }: UnpacedDesk,
  job: Job,
  wanted: readonly PlannedLink[],
  planned: readonly string[],
): Promise<void> {
  expect((await log.take()).toSorted()).toEqual(planned.toSorted());
  const receipts = await bulk.listReceipts(job, { limit: 2 * rows });
  expect(receipts).toHaveLength(planned.length);
  expect(new Set(receipts.map(({ path }) => path)).size).toBe(planned.length);
  expect(new Set(receipts.map(({ status }) => status))).toEqual(new Set(["done"]));
  const sort = { field: "path", direction: "asc" } as const;
  const found = await readPages(100, async (page): Promise<readonly ReadLink[]> => {
    return (await owner.call(links.index, { page, limit: 100, sort })).links;
  });
  const named = found.map(({ path = null, name, url }) => ({ path, name, url }));
  expect(sortByPath(named)).toEqual(sortByPath(wanted));
}

function sortByPath<Item extends { readonly path: string | null }>(items: readonly Item[]) {
  return items.toSorted((one, other) => ((one.path ?? "") < (other.path ?? "") ? -1 : 1));
}

function listWrites(old: readonly PlannedLink[], wanted: readonly PlannedLink[], act: string) {
  const isOld = (path: string) => old.some((named) => named.path === path);
  return wanted.map(({ path }) => `${isOld(path) ? "update" : act} ${path}`);
}

async function killOften(site: Site, made: Plan, chance: Chance, left: number): Promise<number> {
  const wanted = Math.min(left, mostKillsOfRun);
  for (let kills = 0; kills < wanted; kills += 1) {
    const isKilled = await applyKilled(site, made, chance);
    // The job was done before the moment of the kill.
    if (!isKilled) return kills;
  }
  return wanted;
}

async function applyKilled(site: Site, made: Plan, chance: Chance): Promise<boolean> {
  const wanted = (await site.log.count()) + chance.between(0, most.writes);
  const pause_ms = chance.between(0, most.pause_ms);
  const { begun, ended, kill } = site.start(made);
  let isOver = false;
  const over = ended.finally(() => (isOver = true));
  await Promise.race([begun, over]);
  while (!isOver && (await site.log.count()) < wanted) await setTimeout(5);
  // The delay only chooses the moment of the kill.
  await Promise.race([over, setTimeout(pause_ms)]);
  kill();
  const code = await over;
  // The process ends by itself only when the job is done.
  expect([null, 0]).toContain(code);
  return code === null;
}

async function openOwn(data: string): Promise<Site> {
  const site = prepareSite({ data });
  // The first start creates the database.
  await (await site.open())[Symbol.asyncDispose]();
  return { ...site, log: await openWriteLog(join(data, "waypost.db")) };
}

async function openOther(data: string): Promise<Site> {
  const { key } = await served.addTenant();
  const base_url = served.serving.places.url;
  return {
    ...prepareSite({ data, base_url, key }),
    log: await openWriteLog(join(served.data, "waypost.db")),
  };
}

function prepareSite(server: {
  readonly data: string;
  readonly base_url?: string;
  readonly key?: string;
}): Omit<Site, "log"> {
  let ahead_ms = 0;
  const goAhead = () => (ahead_ms += lease_ms);
  return {
    open: () => openDesk({ ...server, ahead_ms: goAhead() }),
    start: ({ id }) => {
      const { data, base_url, key } = server;
      const words = ["--data", data, "--plan", id, "--ahead", String(goAhead())];
      if (base_url !== undefined) words.push("--base_url", base_url);
      const env = { ...process.env, WAYPOST_API_KEY: key };
      const child = spawn(process.execPath, [program.file, ...words], {
        env,
        stdio: ["ignore", "pipe", "inherit"],
      });
      return {
        begun: once(child.stdout, "data"),
        kill: () => child.kill("SIGKILL"),
        ended: once(child, "close").then(() => child.exitCode),
      };
    },
  };
}

type PlannedLink = { readonly path: string; readonly name: string; readonly url: string };

function listNamed(name: string, count: number): readonly PlannedLink[] {
  return Array.from({ length: count }, (_, index) => {
    return { path: `p${index}`, name: `${name} ${index}`, url: `https://x.example/${name}` };
  });
}

async function readPages<Item>(
  most: number,
  read: (page: number) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const all: Item[] = [];
  for (let page = 1; ; page += 1) {
    const found = await read(page);
    all.push(...found);
    if (found.length < most) return all;
  }
}
