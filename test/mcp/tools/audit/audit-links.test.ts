import { describe, expect, test } from "vitest";
import { linkOrigin } from "../../../support/world.ts";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** Tests audits of a whole project, with an official client and a real service. */

let assistant: AssistantWorld;

openForEach(
  () => createAssistantWorld({ mode: "full" }),
  (opened) => (assistant = opened),
);

const own = linkOrigin.replace("{subdomain}", "default");
const otherUrl = "https://shop.example";
const print = Array.from({ length: 32 }, () => "AB").join(":");

type Args = Readonly<Record<string, unknown>>;
type Group = {
  readonly code: string;
  readonly field?: string;
  readonly count: number;
  readonly message: string;
  readonly ids: readonly string[];
  readonly filters?: readonly object[];
  readonly fix?: { readonly tool: string; readonly arguments: Args };
};

async function call(tool: string, args: Args = {}) {
  const { structured, isError, text } = await assistant.callTool(tool, args);
  expect(isError, text).toBe(false);
  return structured;
}

async function audit(args: Args = {}): Promise<readonly Group[]> {
  return (await call("audit_links", args)).audit.groups;
}

async function find(code: string, args: Args = {}): Promise<Group | undefined> {
  return (await audit(args)).find((group) => group.code === code);
}

async function plant(fields: Args): Promise<string> {
  return (await assistant.plant("link", fields)).id;
}

async function applyFix({ fix }: Group): Promise<void> {
  const { plan } = await call(fix?.tool ?? "", fix?.arguments);
  expect(plan.counts).toMatchObject({ invalid: 0, conflict: 0 });
  const { job } = await call("apply_plan", { plan_id: plan.id });
  expect(job.state).toBe("done");
}

async function expectFixed(code: string): Promise<void> {
  const before = await find(code);
  if (before === undefined) throw new Error(`nothing is found as ${code}`);
  await applyFix(before);
  expect((await find(code))?.count ?? 0).toBeLessThan(before.count);
}

test("audit_links returns no groups for a project without problems", async () => {
  for (const path of ["a", "b", "c"]) await plant({ path, url: `${otherUrl}/${path}` });
  expect(await call("audit_links")).toEqual({
    audit: { checked: 3, complete: true, groups: [] },
    meta: { page: 1, limit: 10, last: 1 },
  });
});

describe("audit_links", () => {
  test("reports each missing destination, or only one problem if all are missing", async () => {
    const none = await plant({ path: "none" });
    const ios = await plant({ path: "ios", ios_fallback_url: otherUrl });
    const found = await audit();
    expect(found.map(({ code, ids }) => [code, ids])).toEqual([
      ["no_destination", [none]],
      ["no_android_destination", [ios]],
      ["no_desktop_destination", [ios]],
    ]);
  });

  test("reports links that redirect to themselves or to each other in a loop", async () => {
    const short = await assistant.plant("link", { path: "c", options: { shorten: true } });
    const { link } = await call("get_link", { id: short.id });
    const [a, b] = [
      await plant({ path: "a", url: `${own}/b/?utm=1#top` }),
      await plant({ path: "b", url: `${own}/${link.shortened_path}` }),
    ];
    await call("update_link", { id: short.id, url: `${own}/a` });
    const self = await plant({ path: "self", ios_fallback_url: `${own}/self`, url: otherUrl });
    const into = await plant({ path: "into", url: `${own}/self`, android_fallback_url: otherUrl });
    await plant({ path: "out", url: `${own}/fine` });
    await plant({ path: "fine", url: otherUrl });
    const found = await find("loop");
    expect(found?.ids.toSorted()).toEqual([short.id, a, b, self, into].toSorted());
    expect((await audit())[0]?.code).toBe("loop");
  });
});

describe("an audited app", () => {
  const ios_app = { bundle_id: "com.example.app", team_id: "ABCDE12345" };

  test("with a problem is reported only once, not once for each link", async () => {
    const ios = await assistant.plant("ios_app", { ...ios_app, team_id: "abcde12345" });
    const android = await assistant.plant("android_app", {
      package_name: "com.example.app",
      fingerprints: ["AA:BB", print],
    });
    for (const path of ["a", "b"]) {
      await plant({
        path,
        name: path,
        url: otherUrl,
        ios_app: { id: ios.id },
        android_app: { id: android.id },
      });
    }
    expect((await audit()).map(({ code, count, ids }) => [code, count, ids])).toEqual([
      ["team_id_unfit", 1, [ios.id]],
      ["short_fingerprints", 1, [android.id]],
      ["app_without_store_id", 1, [ios.id]],
      ["no_open_button", 1, [ios.id]],
    ]);
  });

  test("that was deleted is removed from 25 links by applying the fix twice", async () => {
    for (let index = 0; index < 25; index += 1) {
      await plant({ path: `p${index}`, url: `${otherUrl}/${index}`, ios_app });
    }
    await assistant.world.store.write((db) => db.deleteFrom("ios_apps").execute());
    const rest = "The fix changes 20 of them. Run the audit again for the other 5.";
    expect((await find("deleted_app"))?.message).toContain(rest);
    await expectFixed("deleted_app");
    expect((await find("deleted_app"))?.message).not.toContain("audit again");
    await expectFixed("deleted_app");
    expect(await find("deleted_app")).toBeUndefined();
  });

  test("is reported as unchecked if the key may not read apps", async () => {
    const key = await assistant.world.addKey({ scopes: ["links.index"] });
    const client = await assistant.connect({ key });
    await plant({ path: "a", url: otherUrl, ios_app });
    const { structured } = await client.callTool("audit_links");
    expect(structured.audit).toEqual({
      checked: 1,
      complete: true,
      groups: [],
      not_checked: [
        "iOS apps: this key cannot read them.",
        "Android apps: this key cannot read them.",
      ],
    });
  });
});

describe("a fix suggested by audit_links", () => {
  test.each<[string, Args]>([
    ["hidden_characters", { name: "Spring\u200b sale\u202e" }],
    ["http_address", { url: "http://shop.example/a?b=1" }],
    ["deferred_linking_without_app", { ios_deferred_deep_linking_enabled: true }],
  ])("resolves the problem %s", async (code, fields) => {
    for (let index = 0; index < 22; index += 1) {
      await plant({ path: `p${index}`, url: `${otherUrl}/${index}`, ...fields });
    }
    await expectFixed(code);
    // Each name needs a separate row, so one call cannot fix all of them.
    if (code === "hidden_characters") {
      const left = await find(code);
      expect(left?.count).toBeLessThan(22);
      await expectFixed(code);
    }
    expect(await find(code)).toBeUndefined();
  });

  test("changes every affected link, even those that the result does not list", async () => {
    for (let index = 0; index < 25; index += 1) {
      await plant({ path: `p${index}`, url: `HTTP://shop.example/${index}?u=http://a.example` });
    }
    await plant({ path: "other", url: "http://shop.example/other" });
    const filters = [{ field: "path", condition: "start", value: "p" }];
    const found = await find("http_address", { filters });
    if (found === undefined) throw new Error("nothing is found");
    await applyFix(found);
    expect(await find("http_address", { filters })).toBeUndefined();
    const { url } = (await call("get_link", { id: "p0" })).link;
    expect(url).toBe("https://shop.example/0?u=http://a.example");
    expect((await find("http_address"))?.count).toBe(1);
  });

  test("removes only the hidden characters from a link's name", async () => {
    await plant({ path: "a", url: otherUrl, name: "Fam\u200bily 👨‍👩‍👧 \\u{200b}" });
    await expectFixed("hidden_characters");
    expect((await call("get_link", { id: "a" })).link.name).toBe("Family 👨‍👩‍👧 \\u{200b}");
  });

  test("is omitted if the key may not change links", async () => {
    const key = await assistant.world.addKey({ scopes: ["links.index"] });
    await plant({ path: "a", url: otherUrl, name: "a\u200b" });
    const { structured } = await (await assistant.connect({ key })).callTool("audit_links");
    expect(structured.audit.groups[0].code).toBe("hidden_characters");
    expect(structured.audit.groups[0].fix).toBeUndefined();
  });
});

test("links that differ only in their path are reported as duplicates", async () => {
  const same = { url: otherUrl, name: "Spring" };
  const ids = [await plant({ path: "a", ...same }), await plant({ path: "b", ...same })];
  await plant({ path: "c", ...same, name: "Mail" });
  const found = await find("duplicate");
  expect([found?.count, found?.ids.toSorted()]).toEqual([2, ids.toSorted()]);
});

test("audit_links lists unvisited links over 90 days old, with filters to find them", async () => {
  const { world } = assistant;
  const old = await plant({ path: "old", url: `${otherUrl}/old` });
  const visited = await plant({ path: "visited", url: `${otherUrl}/visited` });
  await world.store.write((db) =>
    db.updateTable("links").set({ clicks: 1 }).where("id", "=", visited).execute(),
  );
  assistant.setClock(world.now() + 91 * 24 * 60 * 60_000);
  const found = await find("never_clicked");
  expect(found).toMatchObject({
    count: 1,
    ids: [old],
    message: expect.stringContaining("90 days"),
  });
  expect((await call("list_links", { filters: found?.filters })).links).toMatchObject([
    { id: old },
  ]);
});

test("audit_links checks only links matching the filters, and lists IDs in pages", async () => {
  const ids: string[] = [];
  for (let index = 0; index < 12; index += 1) ids.push(await plant({ path: `p${index}` }));
  await plant({ path: "q" });
  const filters = [{ field: "path", condition: "start", value: "p" }];
  const first = await call("audit_links", { filters });
  expect(first.audit).toMatchObject({ checked: 12, groups: [{ count: 12 }] });
  expect(first.meta).toEqual({ page: 1, limit: 10, last: 2, next: 2 });
  const second = await call("audit_links", { filters, page: 2 });
  const shown: readonly string[] = [first, second].flatMap(({ audit }) => audit.groups[0].ids);
  expect(shown.toSorted()).toEqual(ids.toSorted());
});

test("audit_links changes nothing, and its result has at most 3,000 bytes", async () => {
  for (let index = 0; index < 40; index += 1) {
    const path = `p${index}`;
    await plant({ path, url: index % 8 === 0 ? "http://shop.example" : `${otherUrl}/${index}` });
  }
  await plant({ path: "hidden", url: otherUrl, name: "a\u200b" });
  await plant({ path: "none" });
  await plant({ path: "self", url: `${own}/self` });
  const { text } = await assistant.callTool("audit_links");
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(3000);
  expect(assistant.writes).toEqual([]);
});

test.each(["-plan_links", "-bulk"])(
  "audit_links does not suggest plan_links if WAYPOST_TOOLS is %s",
  async (left) => {
    await using other = await createAssistantWorld({ mode: "full", selection: [left] });
    await other.plant("link", { path: "spring", url: "http://shop.example/spring" });
    const { structured } = await other.callTool("audit_links", {});
    const found = structured.audit.groups.find(({ code }: Group) => code === "http_address");
    expect(found).toMatchObject({ count: 1 });
    expect(JSON.stringify(structured)).not.toContain("plan_links");
    await using whole = await createAssistantWorld({ mode: "full", beside: other.world });
    const { structured: complete } = await whole.callTool("audit_links", {});
    const fixed = complete.audit.groups.find(({ code }: Group) => code === "http_address");
    expect(fixed).toEqual({ ...found, fix: expect.objectContaining({ tool: "plan_links" }) });
  },
);
