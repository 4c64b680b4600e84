import { randomBytes } from "node:crypto";
import type { KyselyPlugin } from "kysely";
import { expect, test } from "vitest";
import { apiPrefix } from "../../src/contract/index.ts";
import { createService } from "../../src/service/service.ts";
import { writeCells } from "../../src/stats/cells.ts";
import { writeKind } from "../../src/stats/visit.ts";
import { foldVisits } from "../../src/store/fold-visits.ts";
import { insertBatch } from "../../src/store/visit-batches.ts";
import { makeId, now } from "../support/rows.ts";
import { createWorld, readLinkOrigin, type World } from "../support/world.ts";

/** A project's sums, while others put together what they are made of. */

const kind = writeKind("click", now, { platform: "ios", source: "address" });

async function addVisits({ store, project }: World, count: number): Promise<void> {
  await store.write(async (db) => {
    for (let turn = 0; turn < count; turn += 1) {
      const body = writeCells(new Map([[makeId(), new Map([[kind, 1]])]]));
      await insertBatch({ db, projectId: project.id }, 0, body);
    }
  });
}

/** The API of the world, in which `work` comes after each statement about visits. */
function interrupt({ store, ...world }: World, work: (turn: number) => Promise<void>) {
  const watched = new WeakSet<object>();
  let turn = 0;
  const plugin: KyselyPlugin = {
    transformQuery: ({ node, queryId }) => {
      if (/"visit_(?:batches|totals)"/.test(JSON.stringify(node))) watched.add(queryId);
      return node;
    },
    transformResult: async ({ result, queryId }) => {
      if (watched.has(queryId)) await work((turn += 1));
      return result;
    },
  };
  const { answer } = createService({
    clock: world.clock,
    random: { bytes: randomBytes },
    store: { ...store, db: store.db.withPlugin(plugin) },
    setAlarm: world.setAlarm,
    readLinkOrigin,
    report: String,
  });
  return async (path: string) => {
    const { status, body } = await answer({
      method: "GET",
      url: `http://localhost${apiPrefix}${path}`,
      headers: { authorization: `Token ${world.key}` },
    });
    expect(status, JSON.stringify(body)).toBe(200);
    // Tests read replies as freely as a client in any language would.
    // oxlint-disable-next-line typescript/no-explicit-any
    return { stats: (body as any).stats, statements: turn };
  };
}

const ask = "/link_stats?from=2026-01-15&to=2026-01-15&by=platform&compare=true";

test("each visit is counted once, whenever others put together what waits", async () => {
  await using world = await createWorld();
  const { store, project } = world;
  const waiting = 40;
  await addVisits(world, waiting);
  const { stats, statements } = await interrupt(world, () => Promise.resolve())(ask);
  expect(stats.total.clicks).toBe(waiting);
  // What waits, then what has come to be in the sums: one time more for each place.
  for (let place = 1; place <= statements; place += 1) {
    const get = interrupt(world, async (turn) => {
      if (turn === place) await foldVisits(store, project.id, { isPatient: false });
    });
    const { stats: told } = await get(ask);
    expect([place, told.total.clicks]).toEqual([place, waiting * place]);
    expect(told.rows).toEqual([
      { key: "ios", clicks: waiting * place, opens: 0, installs: 0, previous: 0 },
    ]);
    await addVisits(world, waiting);
  }
});

test("visits that come meanwhile are counted or not, and none before them twice", async () => {
  await using world = await createWorld();
  await addVisits(world, 20);
  // Those of another process are put together at once, while the first ones wait.
  const get = interrupt(world, async (turn) => {
    if (turn < 4) await addVisits(world, 1);
  });
  const { stats } = await get(ask);
  expect(stats.total.clicks).toBeGreaterThanOrEqual(20);
  expect(stats.total.clicks).toBeLessThanOrEqual(23);
});

test("what waits is read once, whether it is compared with a time before or not", async () => {
  await using world = await createWorld();
  await addVisits(world, 40);
  const read = async (compare: boolean) => {
    const get = interrupt(world, () => Promise.resolve());
    return (await get(ask.replace("compare=true", `compare=${compare}`))).statements;
  };
  expect(await read(true)).toBe(await read(false));
});
