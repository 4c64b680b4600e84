import { beforeEach, describe, expect, test } from "vitest";
import { listClicks, openVisitedLinks } from "../support/link-host.ts";
import type { World } from "../support/world.ts";

/** Tests GET /link_stats. Today is 2026-01-15 in this world. */

let world: World;
const { ids, note, ask, read } = openVisitedLinks(
  ["spring/one", "spring/two", "autumn"],
  (opened) => (world = opened),
);

const hour_ms = 60 * 60 * 1000;

describe("GET /link_stats", () => {
  beforeEach(() => {
    for (let turn = 0; turn < 3; turn += 1) note("spring/one", "2026-01-06T08:00:00Z");
    note("spring/two", "2026-01-08T23:30:00Z", { platform: "ios", country: "DE" });
    note("spring/one", "2026-01-01T12:00:00Z", { source: "qr" });
    note("autumn", "2026-01-08T12:00:00Z", { source: "short", referrer: "news.example" });
    note("autumn", "2026-01-14T12:00:00Z", { what: "open", platform: "ios" });
    note("autumn", "2026-01-14T12:00:00Z", { what: "install", platform: "ios" });
    note("autumn", "2026-01-14T12:00:00Z", { source: "button" });
  });

  test("returns one row per day when grouped by day, including days without clicks", async () => {
    const stats = await read("from=2026-01-05&to=2026-01-09");
    expect(stats).toMatchObject({ from: "2026-01-05", to: "2026-01-09", by: "day" });
    expect(stats.total).toEqual({ clicks: 5, opens: 0, installs: 0 });
    expect(listClicks(stats)).toEqual({
      "2026-01-05": 0,
      "2026-01-06": 3,
      "2026-01-07": 0,
      "2026-01-08": 2,
      "2026-01-09": 0,
    });
    expect(stats.sentence).toBe(
      "All links had 5 clicks from 2026-01-05 to 2026-01-09. Most clicks: 2026-01-06 (3).",
    );
  });

  test("covers today and the previous six days by default", async () => {
    const stats = await read("");
    expect([stats.from, stats.to]).toEqual(["2026-01-09", "2026-01-15"]);
    expect(stats.total).toEqual({ clicks: 0, opens: 1, installs: 1 });
    expect(stats.sentence).toMatch(/1 app open and 1 install from .* \(so far\)/);
  });

  test("also returns the previous period's clicks when compare is true", async () => {
    const query = "f[search]=spring&from=2026-01-05&to=2026-01-11&compare=true&by=link";
    const stats = await read(query);
    expect(stats.previous).toEqual({
      from: "2025-12-29",
      to: "2026-01-04",
      clicks: 1,
      opens: 0,
      installs: 0,
    });
    expect(stats.rows).toEqual([
      { key: "/spring/one", id: ids["spring/one"], clicks: 3, opens: 0, installs: 0, previous: 1 },
      { key: "/spring/two", id: ids["spring/two"], clicks: 1, opens: 0, installs: 0, previous: 0 },
    ]);
    expect(stats.sentence).toBe(
      "The 2 links had 4 clicks from 2026-01-05 to 2026-01-11, 300% more than the 1 from " +
        "2025-12-29 to 2026-01-04. Most clicks: /spring/one (3).",
    );
  });

  test.each([
    ["platform", { desktop: 4, ios: 1 }, { desktop: 3, ios: 1 }],
    ["country", { unknown: 4, DE: 1 }, { unknown: 3, DE: 1 }],
    ["referrer", { direct: 4, "news.example": 1 }, { direct: 4 }],
    ["source", { address: 4, short: 1 }, { address: 4 }],
    [
      "link",
      { "/spring/one": 3, "/spring/two": 1, "/autumn": 1 },
      { "/spring/one": 3, "/spring/two": 1 },
    ],
    ["week", { "2026-01-05": 5 }, { "2026-01-05": 4 }],
  ])(
    "returns the clicks of all links, of filtered links and of a single link, grouped by %s",
    async (by, all, some) => {
      const period = `from=2026-01-05&to=2026-01-11&by=${by}`;
      expect(listClicks(await read(period))).toEqual(all);
      expect(listClicks(await read(`${period}&q[name_cont]=spring`))).toEqual(some);
      const one = await read(`${period}&id=${ids["spring/two"]}`);
      expect(one.total.clicks).toBe(1);
      expect(one.sentence).toMatch(/^The link \/spring\/two had 1 click /);
    },
  );

  test("includes button presses only when grouped by source", async () => {
    const day = "from=2026-01-14&to=2026-01-14";
    for (const who of ["", `&id=${ids["autumn"]}`]) {
      const stats = await read(`${day}&by=source${who}`);
      expect(stats.total.clicks).toBe(0);
      expect(listClicks(stats)).toMatchObject({ button: 1 });
      expect((await read(`${day}&by=platform${who}`)).rows).toEqual([
        { key: "ios", clicks: 0, opens: 1, installs: 1 },
      ]);
    }
  });

  test("never reports button presses as the source with the most clicks", async () => {
    for (let turn = 0; turn < 5; turn += 1) {
      note("autumn", "2026-01-08T12:00:00Z", { source: "button" });
    }
    for (const who of ["", `&id=${ids["autumn"]}`]) {
      const stats = await read(`from=2026-01-01&to=2026-01-11&by=source${who}`);
      expect(listClicks(stats)).toMatchObject({ button: 5, short: 1 });
      expect(stats.sentence).not.toContain("button");
    }
  });

  test("limits the number of rows and adds a row with the sum of the rest", async () => {
    const stats = await read("from=2025-12-29&to=2026-01-11&by=link&rows=1&compare=1");
    expect(stats.rows).toMatchObject([
      { key: "/spring/one", clicks: 4, previous: 0 },
      { key: "other", clicks: 2, previous: 0 },
    ]);
  });

  test("still counts the visits of deleted links", async () => {
    await world.call("DELETE", `/links/${ids["spring/one"]}`);
    const stats = await read("from=2026-01-05&to=2026-01-11&by=link");
    expect(listClicks(stats)).toEqual({ "deleted links": 3, "/spring/two": 1, "/autumn": 1 });
    expect(stats.sentence).toMatch(/Most clicks: \/(autumn|spring\/two) \(1\)\.$/);
    expect((await ask(`id=${ids["spring/one"]}`)).status).toBe(404);
  });
});

test("GET /link_stats adds a row for deleted links to the requested number of rows", async () => {
  for (const path of ["spring/one", "spring/two"]) {
    for (let turn = 0; turn < 3; turn += 1) note(path, "2026-01-06T08:00:00Z");
    note(path, "2026-01-01T08:00:00Z");
    await world.call("DELETE", `/links/${ids[path]}`);
  }
  const body = { path: "other", url: "https://shop.example/" };
  ids["other"] = (await world.call("POST", "/links", { body })).body.id;
  for (const path of ["other", "other", "autumn"]) note(path, "2026-01-06T08:00:00Z");
  const stats = await read("from=2026-01-05&to=2026-01-11&by=link&rows=1&compare=true");
  expect(stats.rows).toMatchObject([
    { key: "/other", id: ids["other"], clicks: 2, previous: 0 },
    { key: "deleted links", clicks: 6, previous: 2 },
    { key: "other", clicks: 1, previous: 0 },
  ]);
  expect(stats.sentence).toMatch(/Most clicks: \/other \(2\)\.$/);
});

test('GET /link_stats never lists the row "other" first, even with the most clicks', async () => {
  for (let host = 0; host < 130; host += 1) {
    const referrer = `news-${String(host).padStart(3, "0")}.example`;
    for (let turn = 0; turn < 2; turn += 1) note("autumn", "2026-01-06T08:00:00Z", { referrer });
    note("autumn", "2025-12-30T08:00:00Z", { referrer });
  }
  for (let turn = 0; turn < 5; turn += 1) note("autumn", "2026-01-07T08:00:00Z");
  for (const who of ["", `&id=${ids["autumn"]}`]) {
    const stats = await read(`from=2026-01-05&to=2026-01-11&by=referrer&compare=true${who}`);
    expect(stats.rows).toHaveLength(11);
    expect(stats.rows[0]).toMatchObject({ key: "direct", clicks: 5, previous: 0 });
    const others = stats.rows.filter(({ key }: { key: string }) => key === "other");
    expect(others).toMatchObject([{ clicks: 260 - 9 * 2, previous: 130 - 9 }]);
    expect(stats.sentence).toMatch(/Most clicks: direct \(5\)\.$/);
  }
});

test("GET /link_stats groups by days of the given time zone, even when clocks change", async () => {
  // At 01:00 UTC on March 29th, clocks in Berlin went from 02:00 to 03:00.
  for (const at of ["2026-03-28T22:30:00Z", "2026-03-28T23:30:00Z", "2026-03-29T21:30:00Z"]) {
    note("autumn", at);
  }
  note("autumn", "2026-03-29T22:30:00Z");
  const period = "from=2026-03-28&to=2026-03-30&time_zone=Europe/Berlin";
  for (const who of ["", `&id=${ids["autumn"]}`]) {
    expect(listClicks(await read(period + who))).toEqual({
      "2026-03-28": 1,
      "2026-03-29": 2,
      "2026-03-30": 1,
    });
    const hours = await read(`from=2026-03-29&to=2026-03-29&time_zone=Europe/Berlin&by=hour${who}`);
    expect(hours.rows).toHaveLength(23);
    expect(hours.rows[2].key).toBe("2026-03-29T03:00+02:00");
    const byLink = await read(
      `from=2026-03-29&to=2026-03-29&time_zone=Europe/Berlin&by=link${who}`,
    );
    expect(byLink.total.clicks).toBe(2);
  }
});

test.each([
  ["from=2026-01-10&to=2026-01-10&time_zone=Asia/Kolkata", "2026-01-10T00:30+05:30", 24],
  ["from=2026-01-10&to=2026-01-10&time_zone=Asia/Kathmandu", "2026-01-10T00:45+05:45", 24],
  ["from=2026-01-09T20:20:00Z&to=2026-01-10T12:00:00Z", "2026-01-09T20:00Z", 16],
  ["from=2026-01-10&to=2026-01-10&time_zone=America/St_Johns", "2026-01-10T00:30-03:30", 24],
])(
  "the hourly rows of GET /link_stats start on full UTC hours and add up to the total: %s",
  async (period, first, count) => {
    for (let hour = 0; hour < 24; hour += 1) {
      note("autumn", new Date(Date.UTC(2026, 0, 10, hour - 8)).toISOString());
    }
    for (const who of ["", `&id=${ids["autumn"]}`]) {
      const { total, rows, sentence } = await read(`${period}&by=hour${who}`);
      expect([rows[0].key, rows.length]).toEqual([first, count]);
      const clicks = rows.map((row: { clicks: number }) => row.clicks);
      expect(clicks.reduce((sum: number, one: number) => sum + one)).toBe(total.clicks);
      expect(total.clicks).toBeGreaterThan(10);
      expect(sentence).toContain(" (1).");
    }
  },
);

test("GET /link_stats reports no top link if there were no clicks", async () => {
  note("autumn", "2026-01-10T12:00:00Z", { source: "button" });
  for (const by of ["source", "hour"]) {
    const { sentence } = await read(`from=2026-01-10&to=2026-01-10&by=${by}`);
    expect(sentence).toBe("All links had 0 clicks on 2026-01-10.");
  }
});

test("GET /link_stats accepts times and compares periods of the same length", async () => {
  for (let hour = 0; hour < 24; hour += 1) {
    note("autumn", new Date(Date.UTC(2026, 0, 10) + hour * hour_ms).toISOString());
  }
  const stats = await read("from=2026-01-10T12:00&to=2026-01-10T15:00&compare=true&by=hour");
  expect(stats.total.clicks).toBe(3);
  expect(stats.previous).toMatchObject({ from: "2026-01-10T09:00:00Z", clicks: 3 });
  expect((await read("from=2026-01-10T12:00&to=2026-01-10T15:00&by=link")).total.clicks).toBe(3);
});

test.each([
  ["from=last%20week", '(today) or a time such as 2026-01-15T09:00, not "last week".'],
  ["to=2026-02-30", "to must be a date"],
  [
    "from=2026-01-10&to=2026-01-09",
    "from must be before to. Both days are included, and today is 2026-01-15.",
  ],
  ["from=2010-01-01&to=2026-01-09", "at most ten years apart"],
  ["by=contry", 'referrer, country, source, link, not "contry"; did you mean country?'],
  ["from=2025-01-01&to=2026-01-09&by=hour", "by hour would return more than"],
  ["compare=maybe", "compare must be true or false."],
  [
    "bogus=1&from=2026-01-10",
    "Unknown parameter: bogus. This endpoint takes id, from, to, by, compare, time_zone, rows, " +
      "q[field_condition], f[field_condition].",
  ],
  ["q[nam_cont]=spring&f[search]=spring", "Unknown parameter: q[nam_cont]."],
  ["q[kind_eq]=x&limit=2&q[s]=name", "Unknown parameter: limit, q[s], q[kind_eq]."],
  ["q=spring", "Unknown parameter: q."],
  ["f[nam_cont]=spring", "f[nam_cont]"],
  ["rows=0", "rows must be a whole number from 1 to 100."],
  ["id=", "id must be the id of a link. Omit it for all links."],
  ["id=&by=link", "id must be the id of a link. Omit it for all links."],
  ["from=", ', not "".'],
  ["to=", "to must be a date"],
  ["by=", 'not "".'],
  ["compare=", "compare must be true or false."],
  ["time_zone=", "time_zone must be a time zone such as Europe/Berlin"],
  ["rows=", "rows must be a whole number from 1 to 100."],
  ["by=hour&by=day", "by must be given only once."],
  ["from=2026-01-10&from=2026-01-10", "from must be given only once."],
  [
    "time_zone=Berlin",
    "time_zone must be a time zone such as Europe/Berlin; did you mean Europe/Berlin?",
  ],
])("GET /link_stats?%s returns 422 with a message about the parameter", async (query, said) => {
  const { status, body } = await ask(query);
  expect([status, body.error]).toEqual([422, expect.stringContaining(said)]);
});

test("GET /link_stats accepts a key in the header, in the query or in both", async () => {
  note("autumn", "2026-01-14T12:00:00Z");
  const { key } = world;
  const show = async (query: string, authorization?: string) => {
    const headers = authorization === undefined ? {} : { authorization };
    const { status, body } = await world.call("GET", "/link_stats", { key: null, query, headers });
    return [status, body.stats?.total.clicks ?? body.error];
  };
  expect(await show("", `Bearer ${key}`)).toEqual([200, 1]);
  expect(await show(`api_key=${key}`)).toEqual([200, 1]);
  expect(await show(`by=link&api_key=${key}&q[name_cont]=autumn`)).toEqual([200, 1]);
  expect(await show(`api_key=${key}&api_key=${key}`)).toEqual([200, 1]);
  expect(await show(`api_key=${key}`, `Token ${key}`)).toEqual([200, 1]);
  expect(await show("api_key=", `Token ${key}`)).toEqual([200, 1]);
  expect(await show(`api_key=${key}&bogus=1`)).toEqual([
    422,
    expect.stringMatching(/Unknown parameter: bogus\. This endpoint takes id, from/),
  ]);
});

test("GET /link_stats requires links.index and never counts visits of other projects", async () => {
  note("autumn", "2026-01-14T12:00:00Z");
  const narrow = await world.addKey({ scopes: ["links.create"] });
  expect((await ask("", narrow)).status).toBe(401);
  const other = await world.addKey({ project: await world.addProject() });
  expect((await ask("", other)).body.stats.total.clicks).toBe(0);
  expect((await ask(`id=${ids["autumn"]}`, other)).status).toBe(404);
});

test.each(["link", "platform"])(
  "GET /link_stats sorts %s rows with equal clicks by opens, then by installs",
  async (by) => {
    const rows = [
      ["autumn", "android", 1, 2],
      ["spring/one", "desktop", 2, 1],
      ["spring/two", "ios", 2, 3],
    ] as const;
    for (const [path, platform, opens, installs] of rows) {
      const facts = { platform } as const;
      note(path, "2026-01-08T12:00:00Z", facts);
      for (let turn = 0; turn < opens; turn += 1) {
        note(path, "2026-01-08T12:00:00Z", { ...facts, what: "open" });
      }
      for (let turn = 0; turn < installs; turn += 1) {
        note(path, "2026-01-08T12:00:00Z", { ...facts, what: "install" });
      }
    }
    const stats = await read(`from=2026-01-08&to=2026-01-08&by=${by}`);
    const told = stats.rows.map((row: Record<string, number>) => [
      row["clicks"],
      row["opens"],
      row["installs"],
    ]);
    expect(told).toEqual([
      [1, 2, 3],
      [1, 2, 1],
      [1, 1, 2],
    ]);
  },
);
