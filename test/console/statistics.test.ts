import { expect, test } from "vitest";
import type { JsonObject } from "../../src/contract/json.ts";
import { utc, writeLocalTime } from "../../src/contract/local-time.ts";
import type { PageRequest } from "../../src/console/page.ts";
import { renderLinkStats, statisticsPage } from "../../src/console/pages/statistics.ts";
import { type WebTab, callTool, signInAt } from "../support/console.ts";
import { openConsole, sizes } from "../support/browser.ts";
import { createServed, runJson, type OwnServer } from "../support/command.ts";
import { visit } from "../support/listening.ts";
import { openForAll } from "../support/open-for.ts";

/** Clicks over time in the console, of a project and of a link. */

let served: OwnServer;
let tab: WebTab;

openForAll(createServed, async (opened) => {
  served = opened;
  tab = await signInAt(served.serving);
});

async function readDays(at: string): Promise<readonly string[]> {
  const { text, status } = await tab.open(at);
  expect(status).toBe(200);
  return [...text.matchAll(/<th scope="row"[^>]*>(20\d\d-\d\d-\d\d)</g)].map(([, day = ""]) => day);
}

const today = () => writeLocalTime(Date.now(), utc).slice(0, 10);

test("the statistics page shows 7 or 30 days that end with today", async () => {
  const before = today();
  for (const [at, count] of [
    ["/statistics?days=7", 7],
    ["/statistics", 30],
    ["/statistics?days=3", 30],
  ] as const) {
    const days = await readDays(at);
    expect(days, at).toHaveLength(count);
    expect([before, today()], at).toContain(days.at(-1));
  }
});

test("the statistics page shows the submitted dates and groups long periods by week", async () => {
  expect(await readDays("/statistics?from=2026-03-01&to=2026-03-05")).toEqual([
    "2026-03-01",
    "2026-03-02",
    "2026-03-03",
    "2026-03-04",
    "2026-03-05",
  ]);
  const { text } = await tab.open("/statistics?from=2026-03-01&to=2026-03-05");
  expect(text).toMatch(/type="date" id="from" name="from" value="2026-03-01"/);
  expect(text).toMatch(/type="date" id="to" name="to" value="2026-03-05"/);
  expect(text).not.toContain('days" aria-current="page"');
  // A missing start date means thirty days.
  expect(await readDays("/statistics?from=&to=2026-03-30")).toHaveLength(30);
  const weeks = await readDays("/statistics?from=2025-01-01&to=2026-06-30");
  expect(weeks.length).toBeLessThan(80);
  expect(weeks.length).toBeGreaterThan(75);
});

test("the statistics page groups many years by month", async () => {
  const { text } = await tab.open("/statistics?from=2017-01-01&to=2026-06-30");
  expect(text.match(/<th scope="row"[^>]*>20\d\d-\d\d</g)).toHaveLength(9 * 12 + 6);
  expect(text).toContain("Month</th>");
});

test("statistics pages request the previous period only for sections that show it", async () => {
  const asked: JsonObject[] = [];
  const call = (_tool: string, given: JsonObject) => {
    asked.push(given);
    const stats = { by: given["by"] ?? "", sentence: "", rows: [] };
    return Promise.resolve({ kind: "done", result: { stats } });
  };
  const tryCall = async (...given: Parameters<typeof call>) => (await call(...given)).result;
  const account = { call, tryCall, readToday: () => "2026-01-15", mayUse: () => true };
  // The page reads nothing else of a visit.
  const url = new URL("https://console.example/statistics");
  const request = { account, url } as unknown as PageRequest;
  await statisticsPage.show(request);
  await renderLinkStats(request, "1");
  expect(asked.map(({ by, compare }) => [by, compare])).toEqual([
    ["day", true],
    ["link", undefined],
    ["platform", undefined],
    ["source", undefined],
    ["referrer", undefined],
    ["country", undefined],
    ["day", true],
  ]);
});

test.each([
  ["from=2026-03-05&to=2026-03-01", /from must be before to\. Both days are included/],
  ["from=yesterday&to=2026-03-01", /from must be a date such as/],
  ["from=2026-02-30", /from must be a date such as/],
  ["from=1990-01-01&to=2026-03-01", /from and to must be at most ten years apart/],
])("the statistics page shows a single error for the invalid dates %s", async (query, said) => {
  const { text, status } = await tab.open(`/statistics?${query}`);
  expect(status).toBe(200);
  expect(text.match(new RegExp(said, "g"))).toHaveLength(1);
  expect(text).toContain('name="from"');
});

test("a link's page shows its clicks of the last thirty days", async () => {
  const { link } = await callTool(served.serving, "create_link", { path: "seen" });
  expect(await readDays(`/links/${link.id}`)).toHaveLength(30);
  expect((await tab.open(`/links/${link.id}`)).text).not.toContain('class="chart"');
});

test("the statistics page shows app opens in their own column", async () => {
  const { folder, serving } = served;
  await callTool(serving, "create_link", { path: "opened" });
  const made = await runJson(["keys", "create", "--client", "--data", folder.path, "--json"]);
  const { port } = new URL(serving.places.url);
  const body = { url: `http://default.localhost:${port}/opened`, platform: "ios" };
  const told = await serving.call("POST", "/links/attribute", { key: made.token, body });
  expect(told.body).toMatchObject({ matched: true });
  const { text } = await tab.open("/statistics");
  expect(text).toContain("1 app open");
  const day =
    /<th scope="row"[^>]*>20[\d-]+<\/th>\s*<td class="number">0<\/td>\s*<td class="number">1</;
  expect(text).toMatch(day);
});

test("a statistics chart labels its highest value and its first and last day", async () => {
  const { serving } = served;
  const url = "https://example.com/charted";
  const { link } = await callTool(serving, "create_link", { path: "charted", url });
  const { port } = new URL(serving.places.url);
  for (let visits = 0; visits < 3; visits += 1) {
    const visited = await visit(`http://default.localhost:${port}/charted`);
    expect(visited?.location).toBe(url);
  }
  const days = await readDays(`/links/${link.id}`);
  const { text } = await tab.open(`/links/${link.id}`);
  const scales = [...text.matchAll(/<p class="scale[^>]*>(.*?)<\/p>/gs)].map(([, said = ""]) =>
    said.replaceAll(/<[^>]*>/g, "").trim(),
  );
  expect(scales).toEqual(["3", `${days[0]} ${days.at(-1)}`]);
});

test("the statistics page shows each table below its heading on a phone", async () => {
  const url = "https://example.com/shown";
  await callTool(served.serving, "create_link", { path: "shown", url });
  const { port } = new URL(served.serving.places.url);
  await visit(`http://default.localhost:${port}/shown`);
  const viewport = sizes.phone;
  const { page } = await openConsole(served.serving, { viewport, path: "/statistics" });
  const card = page.getByRole("region", { name: "Platforms" });
  const [heading, table] = [card.getByRole("heading"), card.getByRole("table")];
  const [above, below] = await Promise.all([heading.boundingBox(), table.boundingBox()]);
  expect(below?.y).toBeGreaterThanOrEqual((above?.y ?? 0) + (above?.height ?? 0));
  // The text in the table does not break inside words.
  const name = table.getByRole("rowheader", { name: "Computers and other devices" });
  expect((await name.boundingBox())?.width).toBeGreaterThan(100);
});
