import { expect, test } from "vitest";
import { listClicks, openVisitedLinks } from "../support/link-host.ts";
import type { World } from "../support/world.ts";

/** Tests statistics by referrer if a client sends visits with invented hosts. */

let world: World;
const { ids, makeLink, note, read } = openVisitedLinks(
  ["spring/one", "autumn"],
  (opened) => (world = opened),
);

test("a project's statistics have the same total for every grouping", async () => {
  const period = "from=2026-01-05&to=2026-01-11&rows=100";
  const facts = { platform: "ios", country: "DE", referrer: "news.example" } as const;
  note("autumn", "2026-01-04T23:59:00Z", facts);
  for (const day of ["06", "08", "12"]) {
    for (const path of ["autumn", "spring/one"]) note(path, `2026-01-${day}T08:00:00Z`, facts);
    note("autumn", `2026-01-${day}T08:00:00Z`, { source: "button" });
  }
  note("autumn", "2026-01-06T09:00:00Z");
  const readBy = (by: string) => read(`${period}&by=${by}`);
  for (const by of ["hour", "day", "week", "platform", "referrer", "country", "source", "link"]) {
    const { total, rows } = await readBy(by);
    const sum = Object.entries(listClicks({ rows }))
      .filter(([key]) => key !== "button")
      .reduce((all, [, clicks]) => all + clicks, 0);
    expect([by, total.clicks, sum]).toEqual([by, 5, 5]);
  }
  expect(listClicks(await readBy("day"))).toMatchObject({ "2026-01-06": 3, "2026-01-08": 2 });
  expect(listClicks(await readBy("platform"))).toEqual({ ios: 4, desktop: 1 });
  expect(listClicks(await readBy("referrer"))).toEqual({ "news.example": 4, direct: 1 });
  expect(listClicks(await readBy("country"))).toEqual({ DE: 4, unknown: 1 });
  expect(listClicks(await readBy("source"))).toEqual({ address: 5, button: 2 });
  expect(listClicks(await readBy("link"))).toEqual({ "/autumn": 3, "/spring/one": 2 });
});

const inventedReferrers = (link: string, count: number) =>
  Array.from({ length: count }, (_, host) => `made-up-${host}.${link.replace("/", "-")}.example`);

/** Sends visits over several seconds, because visits within a second are also limited. */
async function flood(path: string, hosts: readonly string[]): Promise<void> {
  for (const [turn, referrer] of hosts.entries()) {
    note(path, "2026-01-06T08:00:00Z", { referrer });
    if (turn % 90 === 0) await world.clicks.flush(world.project.id);
  }
}

test("1,100 fake referrers of one link do not hide the referrers of other links", async () => {
  const period = "from=2026-01-05&to=2026-01-11&by=referrer";
  await flood("autumn", inventedReferrers("autumn", 1100));
  for (let turn = 0; turn < 50; turn += 1) {
    note("spring/one", "2026-01-06T09:00:00Z", { referrer: "news.example" });
  }
  const all = await read(`${period}&rows=100`);
  expect([all.total.clicks, all.rows.length]).toEqual([1150, 101]);
  expect(all.rows[0]).toMatchObject({ key: "news.example", clicks: 50 });
  expect(all.rows.at(-1)).toMatchObject({ key: "other", clicks: 1001 });
  expect(all.sentence).toMatch(/Most clicks: news\.example \(50\)\.$/);
  // These are the same 100 hosts as in the link's own statistics.
  const own = await read(`${period}&rows=100&id=${ids["autumn"]}`);
  expect(own.rows.at(-1)).toMatchObject({ key: "other", clicks: 1000 });
  const named = new Set(own.rows.map(({ key }: { key: string }) => key));
  const others = all.rows.filter(({ key }: { key: string }) => !named.has(key));
  expect(others).toMatchObject([{ key: "news.example" }]);
});

test("the referrers with the most visits are listed even if they were recorded last", async () => {
  for (let link = 0; link < 11; link += 1) {
    const path = `flooded-${link}`;
    await makeLink(path);
    await flood(path, inventedReferrers(path, 100));
  }
  for (let turn = 0; turn < 50; turn += 1) {
    note("spring/one", "2026-01-06T09:00:00Z", { referrer: "news.example" });
  }
  const stats = await read("from=2026-01-05&to=2026-01-11&by=referrer");
  expect(stats.total.clicks).toBe(1150);
  expect(stats.rows[0]).toMatchObject({ key: "news.example", clicks: 50 });
  expect(stats.rows.at(-1)).toMatchObject({ key: "other", clicks: 1100 - 9 });
});
