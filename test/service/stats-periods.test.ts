import { describe, expect, test, vi } from "vitest";
import type { CountedVisit } from "../../src/stats/visit.ts";
import { openVisitedLinks } from "../support/link-host.ts";
import type { World } from "../support/world.ts";

/** Tests the statistics of a period and of the previous period. */

let world: World;
const visited = openVisitedLinks(["spring", "autumn", "winter"], (opened) => (world = opened));
const { ids, makeLink, ask, read } = visited;

function note(
  at: string,
  { path = "spring", ...more }: Partial<CountedVisit> & { path?: string } = {},
) {
  visited.note(path, at, more);
}

/** Records a visit at half past each hour from the first to the last of these UTC days. */
function noteHours(from: string, to: string): void {
  const end = Date.parse(`${to}T23:59Z`);
  for (let at = Date.parse(`${from}T00:30Z`); at < end; at += 60 * 60 * 1000) {
    note(new Date(at).toISOString());
  }
}

type Row = { readonly key: string; readonly clicks: number; readonly previous?: number };

const addUp = (rows: readonly Row[], name: "clicks" | "previous") =>
  rows.reduce((sum, row) => sum + (row[name] ?? 0), 0);

/** Queries for all links and for one link, which are read in different ways. */
const linkQueries = () => ["", `&id=${ids["spring"]}`];

async function readWhole(query: string) {
  const stats = await read(query);
  expect(addUp(stats.rows, "clicks")).toBe(stats.total.clicks);
  if (stats.previous !== undefined) {
    expect(addUp(stats.rows, "previous")).toBe(stats.previous.clicks);
  }
  return stats;
}

const readHours = (day: string) =>
  readWhole(`from=${day}&to=${day}&time_zone=Europe/Berlin&by=hour&compare=true`);

describe("the rows for a period and for the previous period", () => {
  test.each(["day", "week", "month"])(
    "add up to the totals when grouped by %s, even around a day without a midnight",
    async (by) => {
      noteHours("2026-08-20", "2026-09-22");
      const zone = `time_zone=America/Santiago&compare=true&by=${by}`;
      for (const who of linkQueries()) {
        const odd = await readWhole(`from=2026-09-06&to=2026-09-06&${zone}${who}`);
        expect(odd).toMatchObject({ from: "2026-09-06", to: "2026-09-06", total: { clicks: 23 } });
        expect(odd.previous).toMatchObject({ from: "2026-09-05", to: "2026-09-05", clicks: 24 });
        const last = await readWhole(`from=2026-08-31&to=2026-09-06&${zone}${who}`);
        expect([last.total.clicks, last.previous.clicks]).toEqual([7 * 24 - 1, 7 * 24]);
        const first = await readWhole(`from=2026-09-06&to=2026-09-12&${zone}${who}`);
        expect([first.total.clicks, first.previous.clicks]).toEqual([7 * 24 - 1, 7 * 24]);
        const next = await readWhole(`from=2026-09-07&to=2026-09-13&${zone}${who}`);
        expect([next.total.clicks, next.previous.clicks]).toEqual([7 * 24, 7 * 24 - 1]);
      }
    },
  );

  test.each([
    ["2025-10-12", "2026-01-09"],
    ["2025-10-14", "2026-01-10"],
  ])(
    "add up to the totals by week from %s to %s, even if the first week starts before the period",
    async (from, to) => {
      for (let day = 0; day < 200; day += 1) {
        note(new Date(Date.UTC(2025, 6, 1 + day, 12)).toISOString());
      }
      for (const who of linkQueries()) {
        const { rows } = await readWhole(`from=${from}&to=${to}&by=week&compare=true${who}`);
        // Each day has a click, so a week and its previous week have the same number.
        expect(rows.map(({ previous }: Row) => previous)).toEqual(
          rows.map(({ clicks }: Row) => clicks),
        );
        expect(rows.at(-1).clicks).toBeGreaterThan(0);
      }
    },
  );

  test("add up to the totals by hour, even when clocks go forward or back", async () => {
    noteHours("2026-03-27", "2026-03-31");
    noteHours("2026-10-23", "2026-10-27");
    const shorter = await readHours("2026-03-29");
    expect([shorter.total.clicks, shorter.previous.clicks]).toEqual([23, 24]);
    // Two o'clock does not exist on this day, so three o'clock has the previous day's clicks.
    expect(shorter.rows[2]).toMatchObject({ key: "2026-03-29T03:00+02:00", previous: 1 });
    expect(shorter.rows[1]).toMatchObject({ key: "2026-03-29T01:00+01:00", previous: 2 });
    const after = await readHours("2026-03-30");
    expect([after.total.clicks, after.previous.clicks]).toEqual([24, 23]);
    expect(after.rows[2]).not.toHaveProperty("previous");
    const longer = await readHours("2026-10-25");
    expect([longer.total.clicks, longer.previous.clicks]).toEqual([25, 24]);
    expect(longer.rows.filter((row: Row) => row.previous === undefined)).toHaveLength(1);
    expect((await readHours("2026-10-26")).previous.clicks).toBe(25);
  });

  test("add up to the totals, including links clicked only in the previous period", async () => {
    for (let turn = 0; turn < 5; turn += 1) note("2026-01-01T12:00Z", { country: "DE" });
    note("2026-01-08T12:00Z", { country: "FR", path: "autumn" });
    const period = "from=2026-01-05&to=2026-01-11&compare=true";
    const byCountry = await readWhole(`${period}&by=country`);
    expect(byCountry.rows).toMatchObject([
      { key: "FR", clicks: 1, previous: 0 },
      { key: "DE", clicks: 0, previous: 5 },
    ]);
    const byLink = await readWhole(`${period}&by=link`);
    expect(byLink.rows).toMatchObject([
      { key: "/autumn", id: ids["autumn"], clicks: 1, previous: 0 },
      { key: "/spring", id: ids["spring"], clicks: 0, previous: 5 },
    ]);
    expect((await readWhole(`${period}&by=country&rows=1`)).rows).toMatchObject([
      { key: "FR", clicks: 1, previous: 0 },
      { key: "other", clicks: 0, previous: 5 },
    ]);
    await world.call("DELETE", `/links/${ids["spring"]}`);
    expect((await readWhole(`${period}&by=link`)).rows).toMatchObject([
      { key: "/autumn", clicks: 1, previous: 0 },
      { key: "deleted links", clicks: 0, previous: 5 },
    ]);
    const none = await readWhole("from=2026-01-12&to=2026-01-14&compare=1&by=link");
    expect(none.rows).toEqual([]);
  });

  test("add up to the totals even if the previous period had too many links to list", async () => {
    for (let place = 0; place < 14; place += 1) {
      await makeLink(`many/${place}`);
      for (let turn = 0; turn <= place; turn += 1) {
        note("2026-01-02T12:00Z", { path: `many/${place}` });
      }
    }
    note("2026-01-08T12:00Z", { path: "many/3" });
    note("2026-01-08T12:00Z", { path: "autumn" });
    const { rows } = await readWhole("from=2026-01-05&to=2026-01-11&compare=true&by=link");
    expect(rows).toHaveLength(11);
    expect(rows.slice(0, 3)).toMatchObject([{ clicks: 1 }, { clicks: 1 }, { key: "/many/13" }]);
    const previous = rows.slice(2, 10).map(({ previous }: Row) => previous);
    expect(previous).toEqual([14, 13, 12, 11, 10, 9, 8, 7]);
    expect(rows[10]).toMatchObject({ key: "other", clicks: 0, previous: 1 + 2 + 3 + 5 + 6 });
  });
});

describe("a statistics period that starts or ends in the middle of an hour", () => {
  test("is extended to whole hours", async () => {
    note("2026-01-10T11:35Z");
    for (const [from, to, clicks] of [
      ["11:30", "11:40", 1],
      ["11:00", "11:01", 1],
      ["12:00", "12:30", 0],
    ] as const) {
      for (const by of ["hour", "day", "platform", "link"]) {
        const stats = await readWhole(`from=2026-01-10T${from}&to=2026-01-10T${to}&by=${by}`);
        expect(stats.total.clicks).toBe(clicks);
        const hour = from.slice(0, 2);
        const ends = [`2026-01-10T${hour}:00:00Z`, `2026-01-10T${Number(hour) + 1}:00:00Z`];
        expect([stats.from, stats.to]).toEqual(ends);
        expect(stats.sentence).toContain(`from ${ends[0]} to ${ends[1]}`);
      }
    }
  });

  test("is extended to whole hours even for old visits and in any time zone", async () => {
    note("2024-10-01T08:30Z");
    const stats = await readWhole("from=2024-10-01T08:10&to=2024-10-01T08:20&compare=true");
    expect(stats).toMatchObject({ by: "hour", total: { clicks: 1 }, previous: { clicks: 0 } });
    expect([stats.from, stats.to]).toEqual(["2024-10-01T08:00:00Z", "2024-10-01T09:00:00Z"]);
    const { rows } = await readWhole("from=2024-10-01&to=2024-10-01&time_zone=Asia/Tokyo");
    expect(rows.filter(({ clicks }: Row) => clicks > 0)).toMatchObject([
      { key: "2024-10-01T17:00+09:00", clicks: 1 },
    ]);
  });
});

test.each([
  ["2026-01-15", "hour", 24],
  ["2025-12-16", "day", 31],
  ["2025-12-15", "week", 5],
  ["2025-07-18", "week", 27],
  ["2025-07-17", "month", 7],
  ["2016-01-16", "month", 121],
])("statistics from %s until today are grouped by %s by default", async (from, by, count) => {
  const stats = await read(`from=${from}`);
  expect([stats.by, stats.rows.length]).toEqual([by, count]);
});

test("in statistics by month, every row but the first starts on the first of a month", async () => {
  noteHours("2025-10-30", "2025-11-02");
  const { rows } = await readWhole("from=2025-10-31&to=2025-12-01&by=month&compare=true");
  expect(rows).toMatchObject([
    { key: "2025-10", clicks: 24, previous: 0 },
    { key: "2025-11", clicks: 48, previous: 0 },
    // The previous 32 days end on October 30th.
    { key: "2025-12", clicks: 0, previous: 24 },
  ]);
});

test.each([
  ["from=2016-01-16&by=hour", 422],
  ["from=2016-01-16&by=day", 422],
  ["from=2016-01-16&by=week", 422],
  ["from=2018-06-01&by=week&compare=true", 200],
])(
  "GET /link_stats?%s makes fewer than 4,800 conversions to the given time zone",
  async (query, status) => {
    const reading = vi.spyOn(Intl.DateTimeFormat.prototype, "formatToParts");
    try {
      const period = `${query}&time_zone=Europe/Berlin`;
      expect((await ask(period)).status).toBe(status);
      // Each of at most 400 rows needs its date and its start in both periods.
      expect(reading.mock.calls.length).toBeLessThan(400 * 12);
    } finally {
      reading.mockRestore();
    }
  },
);

test.each([
  "from=0100-01-01&to=0100-01-03&compare=true",
  "from=0100-01-01&to=0100-01-03&compare=true&time_zone=Asia/Tokyo",
  "from=0100-01-01T00:10&to=0100-01-03&compare=true&time_zone=America/Lima",
  "from=9999-12-30&to=9999-12-31&compare=true&time_zone=America/Lima",
  "to=9999-12-31&by=month",
])("GET /link_stats returns 0 clicks for a period without visits: %s", async (query) => {
  expect((await read(query)).total.clicks).toBe(0);
});
