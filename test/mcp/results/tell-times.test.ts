import { expect, test } from "vitest";
import { openTimeZone, utc } from "../../../src/contract/local-time.ts";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";
import { openForEach } from "../../support/open-for.ts";

/** "This month" is the user's: times are told, and dates read, in their zone. */

const tokyo = { timeZone: openTimeZone("Asia/Tokyo") };
const local = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\+09:00$/;

let assistant: AssistantWorld;

openForEach(
  () => createAssistantWorld({ mode: "full", ...tokyo }),
  (opened) => (assistant = opened),
);

const call = async (tool: string, args: Record<string, unknown> = {}) =>
  (await assistant.callTool(tool, args)).structured;

const list = (condition: string, value: string) =>
  call("list_links", { filters: [{ field: "created_at", condition, value }] });

test("a session is told its zone, and on which day it begins there", async () => {
  const zone = "Times are those of Asia/Tokyo, ";
  expect(assistant.readInstructions()).toContain(zone);
  expect(assistant.readInstructions()).toContain("This session began on 2026-01-15.");
  // At eight in the evening, UTC.
  assistant.advance(8 * 3_600_000);
  const later = (await assistant.connect()).readInstructions();
  expect(later).toContain("This session began on 2026-01-16.");
});

test("times of the history, plans and jobs have the zone's offset", async () => {
  await call("create_link", { path: "spring", name: "2026-01-01T00:00:00Z" });
  const { changes } = await call("list_changes");
  expect(changes[0].at).toMatch(local);
  const rows = [{ path: "new", url: "https://shop.example" }];
  const { plan } = await call("plan_links", { operation: "upsert", rows });
  expect(plan.expires_at).toMatch(local);
  // What a stranger has named like a time is a name.
  expect((await call("get_link", { id: "spring" })).link.name).toBe("2026-01-01T00:00:00Z");
});

test("a part of a time's text in a filter is sent as it is", async () => {
  await assistant.plant("link", { path: "evening" });
  const { created_at } = await assistant.world.store.db
    .selectFrom("links")
    .select("created_at")
    .executeTakeFirstOrThrow();
  const time = new Date(created_at).toISOString();
  for (const condition of ["start", "cont"]) {
    expect((await list(condition, time.slice(0, 10))).links).toHaveLength(1);
  }
  expect((await list("start", time.slice(1, 10))).links).toEqual([]);
});

test("a date in a filter is the user's midnight", async () => {
  // The world's clock stands at noon, UTC, on the 15th of January: in Tokyo it is nine at night.
  await assistant.plant("link", { path: "evening" });
  const { created_at } = await assistant.world.store.db
    .selectFrom("links")
    .select("created_at")
    .executeTakeFirstOrThrow();
  const day = new Date(created_at + 9 * 3_600_000).toISOString().slice(0, 10);
  const next = new Date(created_at + 33 * 3_600_000).toISOString().slice(0, 10);
  for (const [condition, value, count] of [
    ["gteq", day, 1],
    ["lt", next, 1],
    ["lt", day, undefined],
    ["gteq", `${day}T20:59+09:00`, 1],
  ] as const) {
    const { links = [], error } = await list(condition, value);
    expect(error).toBeUndefined();
    expect(links, `${condition} ${value}`).toHaveLength(count ?? 0);
  }
});

test("a date just before midnight here is already the next day there", async () => {
  await assistant.plant("link", { path: "late" });
  // Half past eleven at night, UTC, is the next morning in Tokyo.
  const late = Date.UTC(2026, 0, 31, 15, 30);
  const { db } = assistant.world.store;
  await db.updateTable("links").set({ created_at: late }).execute();
  const filters = [{ field: "created_at", condition: "gteq", value: "2026-02-01" }];
  expect((await call("list_links", { filters })).links).toHaveLength(1);
  await using plain = await createAssistantWorld({ beside: assistant.world, timeZone: utc });
  expect((await plain.callTool("list_links", { filters })).structured.links ?? []).toEqual([]);
});

test("what a person approves has their times", async () => {
  await using asking = await createAssistantWorld({ beside: assistant.world, ...tokyo });
  await call("publish_template", { body: "<h1>Spring</h1>{% store_buttons %}" });
  const { error } = (await asking.callTool("unpublish_template")).structured;
  const { approval } = error;
  expect(approval.expires_at).toMatch(local);
  const published = /published on \d{4}-\d{2}-\d{2} at 21:00 UTC\+09:00/;
  expect(approval.preview).toMatch(published);
  expect((await asking.visit(approval.url)).html).toMatch(published);
});

test("a change of a moment ago is told with the user's time", async () => {
  await using asking = await createAssistantWorld({ beside: assistant.world, ...tokyo });
  await call("create_link", { path: "spring", url: "https://shop.example/a" });
  await call("update_link", { id: "spring", url: "https://shop.example/b" });
  const { error } = (await asking.callTool("delete_link", { id: "spring" })).structured;
  expect(error.approval.preview).toMatch(/- changed: 2026-01-15T21:0\d:\d\d\+09:00 by /);
});

test("since when a key lacks a right is told so too, also in the resource", async () => {
  await using far = await createAssistantWorld({ isRemote: true, ...tokyo });
  const other = await far.connect({ key: await far.world.addKey({ scopes: ["links.index"] }) });
  const { denied } = (await other.callTool("explain_access")).structured.access;
  const [content] = (await other.readResource("waypost://access")).contents;
  for (const groups of [denied, JSON.parse(content?.text ?? "").access.denied]) {
    expect(groups.map(({ since }: { since?: string }) => since)).toContainEqual(
      expect.stringMatching(local),
    );
  }
});

test("the REST API keeps UTC", async () => {
  await assistant.plant("link", { path: "late" });
  const db = assistant.world.store.db;
  await db
    .updateTable("links")
    .set({ created_at: Date.UTC(2026, 0, 31, 15, 30) })
    .execute();
  const query = "q[created_at_gteq]=2026-02-01";
  expect((await assistant.world.call("GET", "/links", { query })).body.links).toEqual([]);
});
