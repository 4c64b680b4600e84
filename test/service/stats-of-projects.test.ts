import { expect, test } from "vitest";
import { writeCells } from "../../src/stats/cells.ts";
import { writeKind } from "../../src/stats/visit.ts";
import { insertBatch } from "../../src/store/visit-batches.ts";
import { listClicks, openVisitedLinks } from "../support/visited-links.ts";
import type { World } from "../support/world.ts";

/** A project's sums, while some of its visits wait to be put together, and strangers add theirs. */

let world: World;
const { ids, makeLink, note, read } = openVisitedLinks(
  ["spring/one", "autumn"],
  (opened) => (world = opened),
);

test("a project's sums are exact at once, and write nothing of what waits", async () => {
  const waiting = () => world.store.db.selectFrom("visit_batches").select("id").execute();
  const period = "from=2026-01-05&to=2026-01-11&rows=100";
  const facts = { platform: "ios", country: "DE", referrer: "news.example" } as const;
  // Some that were put together before, and some that wait, of the same day and of others.
  for (const at of ["2026-01-06T08:00:00Z", "2026-01-04T23:59:00Z"]) note("autumn", at, facts);
  await read(`${period}&by=link`);
  expect(await waiting()).toHaveLength(0);
  for (const day of ["06", "08", "12"]) {
    for (const path of ["autumn", "spring/one"]) note(path, `2026-01-${day}T08:00:00Z`, facts);
    note("autumn", `2026-01-${day}T08:00:00Z`, { source: "button" });
    await world.clicks.write(world.project.id);
  }
  expect(await waiting()).toHaveLength(3);
  const ways = ["hour", "day", "week", "platform", "referrer", "country", "source"];
  const writes = world.store.countWrites();
  const readAll = async () => {
    const all = [];
    for (const by of ways) all.push(await read(`${period}&by=${by}`));
    return all;
  };
  const before = await readAll();
  expect(before.map(({ total }) => total.clicks)).toEqual(ways.map(() => 5));
  expect(before[1].rows.map((row: { clicks: number }) => row.clicks)).toEqual([
    0, 3, 0, 2, 0, 0, 0,
  ]);
  expect(listClicks(before[4])).toEqual({ "news.example": 5 });
  expect(listClicks(before[6])).toEqual({ address: 5, button: 2 });
  expect([world.store.countWrites(), await waiting()]).toMatchObject([writes, { length: 3 }]);
  // Whoever asks link by link has them put together, and the sums stay the same.
  expect((await read(`${period}&by=link`)).total.clicks).toBe(5);
  expect(await waiting()).toHaveLength(0);
  expect(await readAll()).toEqual(before);
});

test("what waits is put together when there is very much of it", async () => {
  const projectId = world.project.id;
  const kind = writeKind("click", Date.parse("2026-01-06T08:00:00Z"), {
    platform: "ios",
    source: "address",
  });
  const body = writeCells(new Map([[ids["autumn"] ?? "", new Map([[kind, 1]])]]));
  const left = async () =>
    (await world.store.db.selectFrom("visit_batches").select("id").execute()).length;
  for (const [count, afterwards] of [
    [256, 256],
    [1, 0],
  ] as const) {
    await world.store.write(async (db) => {
      for (let turn = 0; turn < count; turn += 1) await insertBatch({ db, projectId }, 0, body);
    });
    const stats = await read("from=2026-01-05&to=2026-01-11");
    expect([stats.total.clicks, await left()]).toEqual([count === 1 ? 257 : 256, afterwards]);
  }
});

const madeUp = (link: string, count: number) =>
  Array.from({ length: count }, (_, host) => `made-up-${host}.${link.replace("/", "-")}.example`);

/** As a stranger does it, over a while: what is counted within a second is cut as well. */
async function flood(path: string, hosts: readonly string[]): Promise<void> {
  for (const [turn, referrer] of hosts.entries()) {
    note(path, "2026-01-06T08:00:00Z", { referrer });
    if (turn % 90 === 0) await world.clicks.flush(world.project.id);
  }
}

test("hosts that a stranger makes up for one link take no other link's from the sums", async () => {
  const period = "from=2026-01-05&to=2026-01-11&by=referrer";
  await flood("autumn", madeUp("autumn", 1100));
  await read("from=2026-01-05&to=2026-01-11&by=link");
  for (let turn = 0; turn < 50; turn += 1) {
    note("spring/one", "2026-01-06T09:00:00Z", { referrer: "news.example" });
  }
  const all = await read(`${period}&rows=100`);
  expect([all.total.clicks, all.rows.length]).toEqual([1150, 101]);
  expect(all.rows[0]).toMatchObject({ key: "news.example", clicks: 50 });
  expect(all.rows.at(-1)).toMatchObject({ key: "other", clicks: 1001 });
  expect(all.sentence).toMatch(/Most clicks: news\.example \(50\)\.$/);
  // The same hundred hosts as the link's own.
  const own = await read(`${period}&rows=100&id=${ids["autumn"]}`);
  expect(own.rows.at(-1)).toMatchObject({ key: "other", clicks: 1000 });
  const named = new Set(own.rows.map(({ key }: { key: string }) => key));
  const others = all.rows.filter(({ key }: { key: string }) => !named.has(key));
  expect(others).toMatchObject([{ key: "news.example" }]);
});

test("of a project's hosts those with the most visits are told, whoever came first", async () => {
  for (let link = 0; link < 11; link += 1) {
    const path = `flooded-${link}`;
    await makeLink(path);
    await flood(path, madeUp(path, 100));
  }
  await read("from=2026-01-05&to=2026-01-11&by=link");
  for (let turn = 0; turn < 50; turn += 1) {
    note("spring/one", "2026-01-06T09:00:00Z", { referrer: "news.example" });
  }
  // As it waits, and put together.
  for (const before of ["by=referrer", "by=link"]) {
    await read(`from=2026-01-05&to=2026-01-11&${before}`);
    const stats = await read("from=2026-01-05&to=2026-01-11&by=referrer");
    expect(stats.total.clicks).toBe(1150);
    expect(stats.rows[0]).toMatchObject({ key: "news.example", clicks: 50 });
    expect(stats.rows.at(-1)).toMatchObject({ key: "other", clicks: 1100 - 9 });
  }
});
