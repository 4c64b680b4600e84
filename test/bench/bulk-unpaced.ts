import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createBulk } from "../../src/bulk/bulk.ts";
import type { Owner } from "../../src/bulk/owner.ts";
import { createClient, type Client } from "../../src/client/client.ts";
import { sendEmbedded } from "../../src/client/carriers.ts";
import { clock, openEmbedded, random, setAlarm } from "../../src/compose/embedded.ts";
import { links } from "../../src/contract/links.ts";
import { createService } from "../../src/service/service.ts";
import { openState } from "../../src/state/state.ts";
import type { Finding } from "./finding.ts";
import { addPlot } from "./ground.ts";
import { findMedian } from "./measure.ts";

/**
 * A job beside plain calls one after another, each creating as many links, in turns. Nobody waits:
 * the job's turns are none, and many keys share the service's budgets.
 */

const rows = 1000;
const rounds = 5;

export async function applyUnpaced(folder: string): Promise<readonly Finding[]> {
  const data = join(folder, "embedded");
  const { store } = await openEmbedded({ data });
  const state = await openState(join(data, "state.db"), { clock, random });
  const plot = await addPlot(store, "unpaced");
  const service = createService({
    store,
    clock,
    random,
    setAlarm,
    readLinkOrigin: () => "http://{subdomain}.localhost",
    report,
  });
  const call = callInTurns(plot.keys, sendEmbedded(service.answer));
  const bulk = createBulk({
    openState: () => Promise.resolve(state),
    clock,
    random,
    sleep,
    spacing_ms: 0,
    report,
  });
  const owner: Owner = { key_print: "bench", origin: "here", call };
  const applied: number[] = [];
  const called: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const { plan } = await bulk.plan(
      { operation: "upsert", source: { rows: makeRows("job", round) } },
      owner,
    );
    applied.push(
      await time(async () => void (await bulk.wait(await bulk.apply(plan, owner), 600_000))),
    );
    called.push(
      await time(async () => {
        for (const row of makeRows("call", round)) await call(links.upsert, row);
      }),
    );
  }
  const { meta } = await call(links.index, { limit: 1 });
  await bulk.close();
  await state.close();
  await store.close();
  return [
    { what: "rows of a job, unpaced", value: findMedian(applied), unit: "a second" },
    { what: "  plain calls, one after another", value: findMedian(called), unit: "a second" },
    {
      what: "  links missing",
      value: 2 * rows * rounds - (meta.count ?? 0),
      unit: "links",
      limit: 0,
    },
  ];
}

function makeRows(kind: string, round: number) {
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
  keys: readonly string[],
  send: Parameters<typeof createClient>[0]["send"],
): Client["call"] {
  const origin = "http://waypost.invalid";
  const clients = keys.map((key) => {
    return createClient({ target: { origin, key }, send, clock, random, sleep });
  });
  let turn = 0;
  return (endpoint, input, signal) => {
    const client = clients[turn++ % clients.length];
    if (client === undefined) throw new Error("there are no keys");
    return client.call(endpoint, input, signal);
  };
}

async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal });
}

function report(error: unknown): never {
  throw error;
}
