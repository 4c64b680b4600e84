import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createBulk } from "../../../src/bulk/bulk.ts";
import type { Owner } from "../../../src/bulk/owner.ts";
import { createClient, type Client } from "../../../src/client/client.ts";
import { sendEmbedded } from "../../../src/client/carriers.ts";
import { clock, openEmbedded, random, setAlarm } from "../../../src/compose/embedded.ts";
import { links } from "../../../src/contract/links.ts";
import { createService } from "../../../src/service/service.ts";
import * as states from "../../../src/state/state.ts";
import { createRing } from "../ring.ts";
import { takeBoth } from "../take-both.ts";

/**
 * A job beside plain calls one after another, each creating as many links. Nobody waits: the job's
 * turns are none, and many keys share the service's budgets. No command can do without budgets, so
 * this is bundled with the sources of the commit that is measured, and runs as a process that is
 * told to make one round after the other.
 */

const [folder = "", keys = "", count = ""] = process.argv.slice(2);
const rows = Number(count);

const { store } = await openEmbedded({ data: folder });
// An earlier commit has no other name for it; what it takes and gives is the same.
const openStateFile: typeof states.openStateFile =
  Reflect.get(states, "openStateFile") ?? Reflect.get(states, "openState");
const state = await openStateFile(join(folder, "state.db"), { clock, random });
const service = createService({
  store,
  clock,
  random,
  setAlarm,
  readLinkOrigin: () => "http://{subdomain}.localhost",
  report,
});
const call = callInTurns(keys.split(","), sendEmbedded(service.answer));
const bulk = createBulk({
  openState: () => Promise.resolve(state),
  clock,
  random,
  sleep,
  spacing_ms: 0,
  report,
});
const owner: Owner = { key_print: "bench", origin: "here", call };

let round = 0;
process.on("message", () => void measure());
process.once("disconnect", () => void end());
process.send?.("ready");

async function measure(): Promise<void> {
  round += 1;
  const source = { rows: makeRows("job") };
  const { plan } = await bulk.plan({ operation: "upsert", source }, owner);
  const runJob = async () => void (await bulk.wait(await bulk.apply(plan, owner), 600_000));
  const callAll = async () => {
    for (const row of makeRows("call")) await call(links.upsert, row);
  };
  const [job, calls] = await takeBoth(
    round,
    () => time(runJob),
    () => time(callAll),
  );
  const { meta } = await call(links.index, { limit: 1 });
  process.send?.({ job, calls, missing: 2 * rows * round - (meta.count ?? 0) });
}

async function end(): Promise<void> {
  await bulk.close();
  await state.close();
  await store.close();
}

function makeRows(kind: string) {
  return Array.from({ length: rows }, (_, row) => {
    return { path: `${kind}/${round}/${row}`, url: `https://www.example.com/${row}` };
  });
}

/** How many rows a second. */
async function time(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return (rows * 1000) / (performance.now() - started);
}

/** No key makes more calls than its budget has room for. */
function callInTurns(
  tokens: readonly string[],
  send: Parameters<typeof createClient>[0]["send"],
): Client["call"] {
  const origin = "http://waypost.invalid";
  const clients = tokens.map((key) => {
    return createClient({ target: { origin, key }, send, clock, random, sleep });
  });
  const nextClient = createRing(clients);
  return (endpoint, input, signal) => nextClient().call(endpoint, input, signal);
}

async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal });
}

function report(error: unknown): never {
  throw error;
}
