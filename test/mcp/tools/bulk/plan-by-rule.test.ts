import { beforeEach, describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** A rule computes a new value for each link, such as the same path on another domain. */

let assistant: AssistantWorld;

openForEach(createAssistantWorld, (opened) => (assistant = opened));

const call: AssistantWorld["call"] = (...asked) => assistant.call(...asked);

const filters = [{ field: "path", condition: "start", value: "p" }];

const plan = (rules: object, more: object = {}) =>
  call("plan_links", { operation: "update", filters, ...rules, ...more });

async function applyApproved(plan_id: string) {
  return (await assistant.approve("apply_plan", { plan_id })).job;
}

type Rows = readonly { readonly path: string; readonly [field: string]: unknown }[];

async function listLinks(...fields: readonly string[]): Promise<unknown> {
  const sort = { field: "path", direction: "asc" };
  const { links } = (await call("list_links", { limit: 50, sort })) as { links: Rows };
  return Promise.all(
    links.map(async ({ path }) => {
      const { link } = await call("get_link", { id: path });
      return fields.map((field) => link[field] ?? null);
    }),
  );
}

const move = (field: string) => {
  return { field, from: "old.example.com", to: "new.example.com", match: "host" };
};

describe("a rule to move links to another domain", () => {
  const replace = [move("url"), move("ios_fallback_url")];

  beforeEach(async () => {
    await assistant.plant("link", {
      path: "p0",
      url: "https://old.example.com/a?b=c#d",
      ios_fallback_url: "https://old.example.com/ios",
    });
    await assistant.plant("link", { path: "p1", url: "https://www.old.example.com/a" });
    await assistant.plant("link", { path: "p2", url: "https://OLD.example.com:443" });
    await assistant.plant("link", { path: "other", url: "https://old.example.com/" });
  });

  test("needs only one plan and one approval, and can be undone", async () => {
    const { plan: made } = await plan({ replace });
    expect(made.counts).toMatchObject({ update: 2, unchanged: 1, invalid: 0, conflict: 0 });
    const first = made.sample.find(({ path }: { path: string }) => path === "p0");
    expect(first.changes).toEqual({
      url: { from: "https://old.example.com/a?b=c#d", to: "https://new.example.com/a?b=c#d" },
      ios_fallback_url: { from: "https://old.example.com/ios", to: "https://new.example.com/ios" },
    });
    const before = await listLinks("path", "url", "ios_fallback_url");
    const job = await applyApproved(made.id);
    expect(job).toMatchObject({
      counts: { done: 2 },
      what: "changed 2 links (url and ios_fallback_url)",
    });
    expect(await listLinks("path", "url", "ios_fallback_url")).toEqual([
      ["other", "https://old.example.com/", null],
      ["p0", "https://new.example.com/a?b=c#d", "https://new.example.com/ios"],
      ["p1", "https://www.old.example.com/a", null],
      ["p2", "https://new.example.com", null],
    ]);
    const undoing = (await call("plan_links", { undo: job.id })).plan;
    await applyApproved(undoing.id);
    expect(await listLinks("path", "url", "ios_fallback_url")).toEqual(before);
  });

  test("is shown once in the preview, and for each link on the approval page", async () => {
    const { plan: made } = await plan({ replace });
    const { error } = await call("apply_plan", { plan_id: made.id });
    const { preview, url } = error.approval;
    expect(preview).toMatch(/^Move 2 links to "new\.example\.com"\n/);
    expect(preview).toContain('web address, by rule: host "old.example.com" → "new.example.com"');
    const { html } = await assistant.visit(url);
    const text = html.replaceAll(/<[^>]*>/g, "");
    expect(text).toContain("https://old.example.com/a?b=c#d");
    expect(text).toContain("https://new.example.com/a?b=c#d");
  });
});

test("rules can be combined with changes to other fields", async () => {
  await assistant.plant("link", { path: "p0", name: "Spring sale", url: "https://x.example/#a" });
  const { plan: made } = await plan({
    changes: { social_title: "Sale" },
    replace: [{ field: "name", from: "Spring", to: "Fall", match: "text" }],
    add_query: { field: "url", values: { utm_source: "mail" } },
    path_prefix: "promo/",
  });
  const { id, what } = await applyApproved(made.id);
  expect(what).toBe("changed 1 link (social_title, name, url, and path)");
  expect(await listLinks("path", "name", "url", "social_title")).toEqual([
    ["promo/p0", "Fall sale", "https://x.example/?utm_source=mail#a", "Sale"],
  ]);
  await applyApproved((await call("plan_links", { undo: id })).plan.id);
  expect(await listLinks("path", "name", "url", "social_title")).toEqual([
    ["p0", "Spring sale", "https://x.example/#a", null],
  ]);
});

test("a rule changes only the links that match the search", async () => {
  await assistant.plant("link", { path: "p0", name: "Spring", url: "https://old.example.com/" });
  await assistant.plant("link", { path: "p1", name: "Fall", url: "https://old.example.com/" });
  const { plan: made } = await plan({ replace: [move("url")] }, { search: "spring" });
  expect(made.counts).toMatchObject({ update: 1, unchanged: 0 });
  await applyApproved(made.id);
  const alone = { filters: undefined, search: "FALL old.example" };
  expect((await plan({ path_prefix: "x/" }, alone)).plan.counts).toMatchObject({ update: 1 });
  expect(await listLinks("path", "url")).toEqual([
    ["p0", "https://new.example.com/"],
    ["p1", "https://old.example.com/"],
  ]);
});

test.each([
  [{ replace: [{ ...move("url"), from: "https://", to: "javascript:", match: "text" }] }],
  [{ replace: [{ ...move("url"), from: "old", to: "me:pw@old", match: "text" }] }],
  [{ replace: [{ ...move("url"), from: "example", to: "ex\\ample", match: "text" }] }],
  [{ replace: [{ field: "path", from: "p0", to: "", match: "text" }] }],
  [{ replace: [{ field: "path", from: "p0", to: " ", match: "text" }] }],
  [{ replace: [{ field: "path", from: "p0", to: "_waypost/x", match: "text" }] }],
  [{ replace: [{ field: "path", from: "p0", to: "a/../b", match: "text" }] }],
  [{ replace: [{ field: "name", from: "a", to: "a\0", match: "text" }] }],
])("a rule that produces an invalid value makes the link's row invalid: %j", async (rules) => {
  await assistant.plant("link", { path: "p0", name: "a", url: "https://old.example.com/" });
  const { plan: made } = await plan(rules);
  expect(made.counts).toMatchObject({ update: 0, invalid: 1 });
});

test("a rule that produces another link's path causes a conflict", async () => {
  await assistant.plant("link", { path: "p-a" });
  await assistant.plant("link", { path: "promo-b" });
  await assistant.plant("link", { path: "p-b" });
  const replace = [{ field: "path", from: "p-", to: "promo-", match: "text" }];
  const { plan: made } = await plan({ replace });
  expect(made.counts).toMatchObject({ update: 1, unchanged: 1, conflict: 1 });
  const conflict = made.sample.find(({ action }: { action: string }) => action === "conflict");
  expect(conflict).toMatchObject({ path: "p-b", message: expect.stringContaining("taken") });
  await applyApproved(made.id);
  const { links } = await call("list_links", { sort: { field: "path", direction: "asc" } });
  const paths = links.map(({ path }: { path: string }) => path);
  expect(paths).toEqual(["p-b", "promo-a", "promo-b"]);
});

test("a rule that produces the same path for two links causes a conflict", async () => {
  await assistant.plant("link", { path: "p-x1" });
  await assistant.plant("link", { path: "p-1" });
  const replace = [{ field: "path", from: "x", to: "", match: "text" }];
  const one = await plan({ replace });
  expect(one.plan.counts).toMatchObject({ unchanged: 1, conflict: 1 });
  const both = [...replace, { field: "path", from: "p-1", to: "p-2", match: "text" }];
  const { plan: made } = await plan({ replace: both });
  expect(made.counts).toMatchObject({ update: 1, conflict: 1 });
});

describe("a link made invalid by a rule", () => {
  beforeEach(async () => {
    await assistant.plant("link", { path: "p0", url: "https://old.example.com/a" });
    await assistant.plant("link", {
      path: "p1",
      url: `https://old.example.com/${"a".repeat(8192 - 24)}`,
    });
  });

  const rule = { add_query: { field: "url", values: { utm_source: "mail" } } };

  test("is listed in the plan's problems, and prevents the plan from being applied", async () => {
    const { plan: made } = await plan(rule);
    expect(made.counts).toMatchObject({ update: 1, invalid: 1 });
    expect(made.next).toContain("leave the invalid rows out with skip_invalid");
    expect(made.problems).toEqual([
      { link: "p1", message: "Url is too long (maximum is 8192 characters)" },
    ]);
    const { error } = await call("apply_plan", { plan_id: made.id });
    expect(error).toMatchObject({ code: "invalid_arguments" });
    expect(error.problems[0].message).toMatch(/^Link p1: Url is too long/);
  });

  test("is listed in the plan's problems, and is skipped if skip_invalid is set", async () => {
    const { plan: made } = await plan(rule, { skip_invalid: true });
    expect(made.counts).toMatchObject({ update: 1, invalid: 1 });
    expect(made.problems).toMatchObject([{ link: "p1" }]);
    expect(made.next).toContain("It leaves out the invalid row");
    const { error } = await call("apply_plan", { plan_id: made.id });
    expect(error.approval.preview).toContain("left out because of errors: 1");
    expect(await applyApproved(made.id)).toMatchObject({ state: "done", counts: { done: 1 } });
  });
});

describe("invalid rows of a plan with skip_invalid", () => {
  const rows = [{ path: "a" }, { path: "b", url: "ftp://x.example" }, { path: "a" }, { path: "c" }];

  test.each([
    [{ rows }, [2, 3]],
    [{ csv: "path,url\na,\nb,ftp://x.example\na,\nc,\nd\n" }, [3, 4, 6]],
  ])("are listed, and the other rows are applied: %j", async (source, faulty) => {
    const asked = { operation: "upsert", ...source };
    const { plan: strict } = await call("plan_links", asked);
    expect((await call("apply_plan", { plan_id: strict.id })).error).toBeDefined();
    const { plan: made } = await call("plan_links", { ...asked, skip_invalid: true });
    expect(made.counts).toEqual(strict.counts);
    expect(made.problems.map(({ row }: { row: number }) => row)).toEqual(faulty);
    const { job } = await call("apply_plan", { plan_id: made.id });
    expect(job).toMatchObject({ state: "done", counts: { done: 2, left: 0 } });
    expect((await call("list_links")).meta.count).toBe(2);
  });

  test("leave nothing to apply if the plan has no other rows", async () => {
    const bad = [{ path: "b", url: "ftp://x.example" }];
    const { plan: strict } = await call("plan_links", { operation: "upsert", rows: bad });
    expect(strict.next).not.toContain("skip_invalid");
    const { plan: made } = await call("plan_links", {
      operation: "upsert",
      rows: bad,
      skip_invalid: true,
    });
    expect(made).toMatchObject({
      counts: { invalid: 1 },
      next: "There is nothing to apply.",
    });
    expect((await call("list_links")).meta.count).toBe(0);
  });

  test("are skipped, but the plan is still rejected for an invalid CSV header", async () => {
    const csv = "path,nmae\na,A\nb,B\n../c,C\n";
    const { plan: made } = await call("plan_links", {
      operation: "upsert",
      csv,
      skip_invalid: true,
    });
    const csvOf = (text: string) => call("plan_links", { operation: "upsert", csv: text });
    expect((await csvOf("path,nmae\na,A\n")).plan.next).not.toContain("skip_invalid");
    expect(made.problems).toMatchObject([
      { row: 1, field: "nmae" },
      { row: 4, skipped: true },
    ]);
    expect((await call("apply_plan", { plan_id: made.id })).error).toMatchObject({
      code: "invalid_arguments",
    });
  });
});

test("a rule that points a link at a forbidden host makes the link's row invalid", async () => {
  await using limited = await createAssistantWorld({ destinations: ["old.example.com"] });
  await limited.plant("link", { path: "p0", url: "https://old.example.com/" });
  await limited.plant("link", { path: "p1" });
  const args = { operation: "update", filters, replace: [move("url")] };
  const { plan: made } = await limited.call("plan_links", args);
  expect(made.counts).toMatchObject({ unchanged: 1, invalid: 1, update: 0 });
  expect(made.problems).toMatchObject([
    { link: "p0", message: expect.stringContaining("not to new.example.com") },
  ]);
});

describe("contradictory rules", () => {
  const replace = [move("url")];

  test.each<[object, RegExp]>([
    [{ replace, changes: { url: "https://x.example" } }, /url is also changed by a rule/],
    [{ replace: [{ ...move("url"), from: "https://old.example.com" }] }, /is a whole address/],
    [{ replace: [move("clicks")] }, /replace/],
    [{ replace: [{ ...move("url"), match: "regex" }] }, /match/],
    [{ add_query: { field: "url", values: { a: 1 } } }, /values/],
  ])("are rejected before any request: %j", async (given, message) => {
    const { error } = await call("plan_links", { operation: "update", filters, ...given });
    expect(error).toMatchObject({ code: "invalid_arguments" });
    expect(error.message).toMatch(message);
    expect(assistant.countAsked()).toBe(0);
  });
});
