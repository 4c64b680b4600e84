import { expect, test } from "vitest";
import { openTimeZone } from "../../../src/contract/local-time.ts";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";
import { openForEach } from "../../support/open-for.ts";

/** The assistant sees all times in UTC, and knows the user's time zone and date. */

const tokyo = { timeZone: openTimeZone("Asia/Tokyo") };
const utc = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/;

let assistant: AssistantWorld;

openForEach(
  () => createAssistantWorld({ mode: "full", ...tokyo }),
  (opened) => (assistant = opened),
);

const call: AssistantWorld["call"] = (...asked) => assistant.call(...asked);

async function count(condition: string, value: string): Promise<number> {
  const filters = [{ field: "created_at", condition, value }];
  return (await call("list_links", { filters })).links?.length ?? 0;
}

test("the instructions contain the user's time zone and local date", async () => {
  expect(assistant.readInstructions()).toContain(
    "All times are UTC, including in filters. " +
      "The user's time zone is Asia/Tokyo, where this session began on 2026-01-15.",
  );
  // At 20:00 UTC, the next day has begun in Tokyo.
  assistant.advance(8 * 3_600_000);
  const later = (await assistant.connect()).readInstructions();
  expect(later).toContain("where this session began on 2026-01-16.");
});

test("times in results are in UTC regardless of the user's time zone", async () => {
  await call("create_link", { path: "spring" });
  const { changes } = await call("list_changes");
  expect(changes[0].at).toMatch(utc);
  const rows = [{ path: "new", url: "https://shop.example" }];
  const { plan } = await call("plan_links", { operation: "upsert", rows });
  expect(plan.expires_at).toMatch(utc);
});

test("a date in a filter means midnight UTC regardless of the user's time zone", async () => {
  await assistant.plant("link", { path: "late" });
  // 15:30 UTC is 00:30 of the next day in Tokyo.
  const late = Date.UTC(2026, 0, 31, 15, 30);
  const { db } = assistant.world.store;
  await db.updateTable("links").set({ created_at: late }).execute();
  expect(await count("gteq", "2026-02-01")).toBe(0);
  expect(await count("gteq", "2026-01-31T15:30:00Z")).toBe(1);
  // A filter also accepts a time with an offset.
  expect(await count("gteq", "2026-02-01T00:00:00+09:00")).toBe(1);
  expect(await count("start", "2026-01-31")).toBe(1);
});

test("an approval preview shows times in the user's time zone", async () => {
  await using asking = await createAssistantWorld({ beside: assistant.world, ...tokyo });
  await call("publish_template", { body: "<h1>Spring</h1>{% store_buttons %}" });
  const { error } = (await asking.callTool("unpublish_template")).structured;
  const { approval } = error;
  expect(approval.expires_at).toMatch(utc);
  const published = /published on \d{4}-\d{2}-\d{2} at 21:00 UTC\+09:00/;
  expect(approval.preview).toMatch(published);
  expect((await asking.visit(approval.url)).html).toMatch(published);
});

test("an approval preview shows the target's last change in the user's time zone", async () => {
  await using asking = await createAssistantWorld({ beside: assistant.world, ...tokyo });
  await call("create_link", { path: "spring", url: "https://shop.example/a" });
  await call("update_link", { id: "spring", url: "https://shop.example/b" });
  const { error } = (await asking.callTool("delete_link", { id: "spring" })).structured;
  expect(error.approval.preview).toMatch(/- changed: 2026-01-15T21:0\d:\d\d\+09:00 by /);
});

test("explain_access returns the time of each denial in UTC", async () => {
  await using far = await createAssistantWorld({ isRemote: true, ...tokyo });
  const other = await far.connect({ key: await far.world.addKey({ scopes: ["links.index"] }) });
  const { denied } = (await other.callTool("explain_access")).structured.access;
  expect(denied.map(({ since }: { since?: string }) => since)).toContainEqual(
    expect.stringMatching(utc),
  );
});
