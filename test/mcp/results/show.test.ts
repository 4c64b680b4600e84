import { describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";
import { openForAll } from "../../support/open-for.ts";

/** Results contain what a user would want to read, within a size limit. */

let assistant: AssistantWorld;
const links = 45;

const measure = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const call = async (tool: string, args: Record<string, unknown> = {}) => {
  const { structured, text } = await assistant.callTool(tool, args);
  return { ...structured, bytes: Buffer.byteLength(text) };
};

openForAll(createAssistantWorld, async (opened) => {
  assistant = opened;
  await opened.plant("ios_app", {
    name: "Acme Shop",
    bundle_id: "com.acme.shop",
    team_id: "TEAM000001",
  });
  await opened.plant("android_app", {
    name: "Acme Shop",
    package_name: "com.acme.shop",
    fingerprints: ["AA:BB"],
  });
  for (let number = 10; number < 10 + links; number += 1) {
    await opened.plant("link", {
      // The name, path and URL have about 20, 15 and 45 characters.
      name: `Spring sale, week ${number}`,
      path: `spring/week-2${number}`,
      url: `https://shop.example.com/collections/spring/${number}`,
      social_title: "Everything for the spring",
      ios_app: { bundle_id: "com.acme.shop" },
      ...(number % 2 === 0 && { android_app: { package_name: "com.acme.shop" } }),
    });
  }
});

const newest = { sort: { field: "path", direction: "asc" } };

describe("list_links", () => {
  test("returns 20 links in at most 4.4 KB of text", async () => {
    const { links: rows, bytes } = await call("list_links", newest);
    expect(rows).toHaveLength(20);
    expect(bytes).toBeLessThanOrEqual(4400);
  });

  test("shows each link with its destination and the names of its apps", async () => {
    const { links: rows, address } = await call("list_links", newest);
    expect(rows[0]).toEqual({
      id: expect.any(String),
      name: "Spring sale, week 10",
      path: "spring/week-210",
      destination: "https://shop.example.com/collections/spring/10",
      clicks: 0,
      ios_app: "Acme Shop",
      android_app: "Acme Shop",
    });
    expect(address).toBe("http://default.localhost:8787/{path}");
    expect(rows[1]).not.toHaveProperty("android_app");
  });

  test("shows an app's bundle ID if a filter uses the bundle ID", async () => {
    const filters = [{ field: "ios_app_bundle_id", condition: "cont", value: "acme" }];
    const { links: rows } = await call("list_links", { filters, limit: 1 });
    expect(rows[0]).toMatchObject({ ios_app: "Acme Shop", ios_app_bundle_id: "com.acme.shop" });
  });
});

test("the fallback URL is shown as the destination of a link without a URL", async () => {
  const url = "https://example.com/ios";
  await assistant.plant("link", { path: "only-ios", ios_fallback_url: url });
  const filters = [{ field: "path", condition: "eq", value: "only-ios" }];
  expect((await call("list_links", { filters })).links).toMatchObject([{ destination: url }]);
});

describe("a written link", () => {
  test("is returned with its fields, its URL and the same problems as explain_link", async () => {
    const { link, problems } = await call("create_link", { path: "made", name: "Made" });
    expect(link).toEqual({
      id: expect.any(String),
      name: "Made",
      path: "made",
      address: "http://default.localhost:8787/made",
      clicks: 0,
    });
    expect(problems).toEqual((await call("explain_link", { id: "made" })).problems);
    const url = "https://shop.example.com";
    const ios_app = { bundle_id: "com.acme.shop" };
    const changed = await call("update_link", { id: "made", url, ios_app });
    expect(changed.link).toMatchObject({ url, ios_app: "Acme Shop" });
    expect(changed.link).not.toHaveProperty("destination");
    expect(changed.problems).toEqual((await call("explain_link", { id: "made" })).problems);
  });

  test("without a destination is returned with a problem for each platform", async () => {
    const { link, problems } = await call("create_link");
    expect(link.address).toMatch(/^http:\/\/default.localhost:8787\/./);
    const fields = problems.map(({ field }: { field: string }) => field);
    expect(fields).toEqual(["ios_fallback_url", "android_fallback_url", "url"]);
  });

  test("is returned without problems if its URL is valid", async () => {
    const url = "https://shop.example.com";
    expect(await call("create_link", { url })).not.toHaveProperty("problems");
  });
});

test("the result of a large job is short, and get_job returns its receipts in pages", async () => {
  const long = "x".repeat(300);
  const rows = Array.from({ length: 120 }, (_, row) => ({ path: `${long}-${row}`, name: long }));
  const { plan } = await call("plan_links", { operation: "upsert", rows });
  // These paths are used by other links after planning, so that their rows fail.
  for (const { path } of rows.slice(0, 30)) await assistant.plant("link", { path });
  const { job, bytes } = await call("apply_plan", { plan_id: plan.id });
  expect(bytes).toBeLessThanOrEqual(1500);
  expect(job).toMatchObject({ state: "done", counts: { done: 90, rejected: 30 } });
  expect(job.failures.length).toBeGreaterThan(0);
  expect(job).not.toHaveProperty("receipts");
  expect((await call("get_job", { job_id: job.id })).bytes).toBeLessThanOrEqual(1500);
  const paged = await call("get_job", { job_id: job.id, page: 3 });
  expect(paged.job.receipts).toHaveLength(20);
  expect(paged.job.receipts[0].path).toHaveLength(304);
});

test("explain_access lists the state of all tools in at most 1.2 KB", async () => {
  const { access, bytes } = await call("explain_access");
  expect(bytes).toBeLessThanOrEqual(1.2 * 1024);
  expect(access.project).toBe("Default");
  expect(access).toMatchObject({ kind: "project", mode: "guarded", role: "owner", plan: "pro" });
  expect(access.host).toBe("http://default.localhost:8787");
  expect(access.granted).toContain("list_links");
  expect(access.asks).toContain("delete_link");
  expect(access.asks).not.toContain("list_links");
  expect(access.denied).toEqual([
    { tools: expect.arrayContaining(["list_projects"]), reason: expect.any(String) },
  ]);
});

test("get_link shows apps by name and ID, and every other field that is set", async () => {
  const { link } = await call("get_link", { id: "spring/week-210" });
  expect(link).toMatchObject({
    social_title: "Everything for the spring",
    ios_app: "Acme Shop",
    ios_app_id: expect.any(String),
    address: "http://default.localhost:8787/spring/week-210",
  });
  expect(link).not.toHaveProperty("social_description");
  expect(measure(link)).toBeLessThan(700);
});
