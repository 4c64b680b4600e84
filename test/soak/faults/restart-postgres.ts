import { setTimeout } from "node:timers/promises";
import { ask, type Answer, type Question } from "../../bench/load/ask.ts";
import { createVisit } from "../../bench/scenarios/redirects.ts";
import { query } from "../../support/postgres.ts";
import { atMost, none, note, type Check } from "../check.ts";
import type { Fault, Stage } from "../fault.ts";
import { describeAnswer, keepAsking } from "../keep-asking.ts";
import { createLedger } from "../ledger.ts";

/** The database is killed under load and restarted; the server is not. */
export const restartPostgres: Fault = {
  name: "restart-postgres",
  what: "PostgreSQL killed and started again under load",
  engines: ["postgres"],
  play: async (stage) => {
    const { openSite, scale, judge } = stage;
    await using site = await openSite();
    const { keys, subdomain } = await site.addPlot("restarts", scale(250, 20));
    await using server = await site.serve();
    const [token = ""] = keys;
    const body = { path: "known", url: "https://example.com/" };
    await ask(server, { method: "POST", path: "/api/v1/links", token, body });
    const visit = createVisit(server, subdomain)("known");
    const list = { path: "/api/v1/links?limit=5", token };
    const { nextWrite, hear, readAcknowledged, check } = createLedger(keys);
    /** When the latest acknowledged write was sent. */
    let writtenFrom = -Infinity;
    const hearWrite = (question: Question, answer: Answer | Error, time_ms: number) => {
      const before = readAcknowledged();
      hear(question, answer);
      if (readAcknowledged() === before) return;
      writtenFrom = Math.max(writtenFrom, performance.now() - time_ms);
    };
    const loads = [
      keepAsking(server, { askers: 8, next: nextWrite, hear: hearWrite }),
      keepAsking(server, { askers: 2, next: () => list, hear }),
      keepAsking(server, { askers: 2, next: () => visit, hear }),
    ];
    const away_ms: number[] = [];
    for (let turn = 0; turn < scale(20, 2); turn += 1) {
      await setTimeout(stage.chance.between(100, scale(1500, 300)));
      // Each way at least once, whatever the seed.
      await (turn % 2 === 0 ? crash(stage) : killBackend(stage, site.databaseUrl ?? ""));
      const back = performance.now();
      // A write that was sent before may have been done before and acknowledged only now.
      while (writtenFrom < back && performance.now() - back < patience_ms) {
        await setTimeout(5);
      }
      away_ms.push(performance.now() - back);
    }
    await Promise.all(loads.map(({ stop }) => stop()));
    const ready = await checkReady(server);
    await server[Symbol.asyncDispose]();
    return [
      note("times killed", away_ms.length),
      ...check(await site.readLinks()),
      atMost("writes again once it is back, at worst", Math.max(...away_ms), "ms", judge(5000)),
      ready,
    ];
  },
};

const patience_ms = 30_000;

async function crash({ findPostgres, chance, scale }: Stage): Promise<void> {
  const postgres = await findPostgres();
  await postgres.crash();
  await setTimeout(chance.between(0, scale(2000, 300)));
  await postgres.start();
}

/**
 * PostgreSQL ends all connections when one of its processes is killed, and restarts by itself.
 * Until it notices, the other connections continue to write.
 */
async function killBackend({ findPostgres, chance }: Stage, database: string): Promise<void> {
  const { url } = await findPostgres();
  const name = new URL(database).pathname.slice(1);
  const asked = `select pid from pg_stat_activity where datname = '${name}'`;
  const [first, ...others] = await query(url, asked);
  if (first === undefined) throw new Error("our server has no connection to the database");
  const pids = [first, ...others].map(({ pid }) => Number(pid));
  process.kill(Number(chance.pick([first, ...others])["pid"]), "SIGKILL");
  const began = performance.now();
  while (pids.some(isAlive) && performance.now() - began < patience_ms) await setTimeout(5);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const every_ms = 100;

/** Requests /readyz, as load balancers do, until the server is ready. */
async function checkReady(server: { readonly url: string }): Promise<Check> {
  const began = performance.now();
  const look = () => ask(server, { path: "/readyz" }).catch((error: Error) => error);
  let answer = await look();
  while (!isReady(answer) && performance.now() - began < patience_ms) {
    await setTimeout(every_ms);
    answer = await look();
  }
  return none("not ready in the end", isReady(answer) ? [] : [describeAnswer(answer)]);
}

function isReady(answer: Answer | Error): boolean {
  return !(answer instanceof Error) && answer.status === 200;
}
