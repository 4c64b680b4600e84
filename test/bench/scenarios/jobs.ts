import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createBulk } from "../../../src/bulk/bulk.ts";
import { sendEmbedded } from "../../../src/client/send-once.ts";
import { createClient, type Client } from "../../../src/client/client.ts";
import { clock, openEmbedded, random, setAlarm } from "../../../src/app/process/embedded.ts";
import { links } from "../../../src/contract/links.ts";
import { createService } from "../../../src/service/service.ts";
import { openState, openStateFile } from "../../../src/state/state.ts";
import { addBenchProject } from "../data/bench-project.ts";
import { createRing } from "../ring.ts";
import { takeBoth } from "../take-both.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** Compares a job with single calls, without limits, so both run in the bench's process. */

const rowsPerSecond = 300;

export async function* measureJobs({ extent, makeStore }: Subject): Rounds {
  await using file = await makeStore();
  const { keys } = await addBenchProject(file, "jobs");
  const { folder: data, databaseUrl: database_url } = file;
  const secrets = { database_url };
  const { store, stateTables } = await openEmbedded({ data, secrets });
  const sources = { clock, random };
  const state = await (stateTables === undefined
    ? openStateFile(join(data, "state.db"), sources)
    : openState(stateTables, sources));
  const service = createService({ store, clock, random, setAlarm, readLinkOrigin, report });
  const readState = () => Promise.resolve(state);
  const bulk = createBulk({ openState: readState, clock, random, sleep, spacing_ms: 0, report });
  const call = callInTurns(keys, sendEmbedded(service.answer));
  const owner = { key_print: "bench", origin: "here", call };
  const count = rowsPerSecond * extent.seconds;
  try {
    for (let round = 1; ; round += 1) {
      const makeRows = (kind: string) =>
        Array.from({ length: count }, (_, row) => {
          return { path: `${kind}/${round}/${row}`, url: `https://www.example.com/${row}` };
        });
      const source = { rows: makeRows("job") };
      const plan = await bulk.plan({ operation: "upsert", source }, owner);
      const runJob = async () => void (await bulk.wait(await bulk.apply(plan, owner), 600_000));
      const callAll = async () => {
        for (const row of makeRows("call")) await call(links.upsert, row);
      };
      const [job, calls] = await takeBoth(
        round,
        () => measureRate(count, runJob),
        () => measureRate(count, callAll),
      );
      const { meta } = await call(links.index, { limit: 1 });
      const missing = 2 * count * round - (meta.count ?? 0);
      yield [
        { what: "rows of a job, unpaced", unit: "a second", value: job },
        { what: "plain calls, one after another", unit: "a second", value: calls },
        {
          what: "rate of a job to that of plain calls",
          unit: "times",
          value: job / calls,
          target: { least: 0.8 },
        },
        {
          what: "links missing",
          unit: "links",
          value: missing,
          target: { most: 0 },
          gather: "sum",
        },
      ];
    }
  } finally {
    await bulk.close();
    await state.close();
    await store.close();
  }
}

async function measureRate(rows: number, work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return (rows * 1000) / (performance.now() - started);
}

function callInTurns(
  keys: readonly string[],
  send: Parameters<typeof createClient>[0]["send"],
): Client["call"] {
  const origin = "http://waypost.invalid";
  const nextClient = createRing(
    keys.map((key) =>
      createClient({ target: { origin, key }, send, clock, random, sleep, setAlarm }),
    ),
  );
  return (endpoint, input, signal) => nextClient().call(endpoint, input, signal);
}

async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal });
}

function report(error: unknown): never {
  throw error;
}

function readLinkOrigin(): string {
  return "http://{subdomain}.localhost";
}
