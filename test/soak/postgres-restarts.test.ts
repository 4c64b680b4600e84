import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "../bench/load/ask.ts";
import { measureKillsOn } from "../bench/scenarios/kills.ts";
import { createVisit } from "../bench/scenarios/redirects.ts";
import { waitUntil } from "../support/clock.ts";
import { query, startPostgres, type PostgresServer } from "../support/postgres.ts";
import { openChance, scale } from "./extent.ts";
import { keepAsking } from "./keep-asking.ts";
import { createLedger } from "./ledger.ts";
import { openSite } from "./site.ts";

/** Kills of our server, and of a PostgreSQL server that only these tests use. */

const chance = openChance("postgres-restarts");
let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

test("no acknowledged write to PostgreSQL is lost when a writing process is killed", async () => {
  const findings = await measureKillsOn("PostgreSQL", postgres, scale(200, 3));
  const lost = findings.find(({ what }) => what.endsWith("acknowledged and lost"));
  expect(lost).toMatchObject({ value: 0 });
});

test("no acknowledged write is lost when PostgreSQL is killed, and writes resume", async () => {
  await using site = await openSite(postgres);
  const { keys, subdomain } = await site.addBenchProject("restarts", scale(250, 20));
  await using server = await site.serve();
  const [token = ""] = keys;
  const body = { path: "known", url: "https://example.com/" };
  await ask(server, { method: "POST", path: "/api/v1/links", token, body });
  const visit = createVisit(server, subdomain)("known");
  const list = { path: "/api/v1/links?limit=5", token };
  const { nextWrite, hear, expectTrue } = createLedger(keys);
  const write = async () => {
    const question = nextWrite();
    const answer = await ask(server, question);
    hear(question, answer);
    return answer.status === 201;
  };
  const loads = [
    keepAsking(server, { askers: 8, next: nextWrite, hear }),
    keepAsking(server, { askers: 2, next: () => list, hear }),
    keepAsking(server, { askers: 2, next: () => visit, hear }),
  ];
  for (let turn = 0; turn < scale(20, 2); turn += 1) {
    await setTimeout(chance.between(100, scale(1500, 300)));
    // Each way at least once, whatever the seed.
    await (turn % 2 === 0 ? crash() : killBackend(site.databaseUrl ?? ""));
    await waitUntil(write);
  }
  await Promise.all(loads.map(({ stop }) => stop()));
  await waitUntil(async () => (await ask(server, { path: "/readyz" })).status === 200);
  await server[Symbol.asyncDispose]();
  expectTrue(await site.readLinks());
});

async function crash(): Promise<void> {
  await postgres.crash();
  await setTimeout(chance.between(0, scale(2000, 300)));
  await postgres.start();
}

/** When one of its processes is killed, PostgreSQL ends all connections and restarts. */
async function killBackend(database: string): Promise<void> {
  const name = new URL(database).pathname.slice(1);
  const asked = `select pid from pg_stat_activity where datname = '${name}'`;
  const [first, ...others] = await query(postgres.url, asked);
  if (first === undefined) throw new Error("our server has no connection to the database");
  const pids = [first, ...others].map(({ pid }) => Number(pid));
  process.kill(Number(chance.pick([first, ...others])["pid"]), "SIGKILL");
  await waitUntil(() => !pids.some(isAlive));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
