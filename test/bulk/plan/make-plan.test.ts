import { describe, expect, test } from "vitest";
import type { PlanInput } from "../../../src/bulk/plan/make-plan.ts";
import type { LinkFields } from "../../../src/contract/links.ts";
import type { PlanOperation } from "../../../src/state/plans.ts";
import { createTimedClient } from "../../client/clients.ts";
import { sha256 } from "../../contract/sample-link.ts";
import { openForEach } from "../../support/open-for.ts";
import { openPlanner, type Planner } from "../planner.ts";

/** Tests the effect that a plan reports for rows and changes of existing links. */

let planner: Planner;

openForEach(openPlanner, (opened) => (planner = opened));

const missingId = "0192f0c0-0000-7000-8000-000000000001";
const url = "https://shop.example/";

const wantRows = (operation: PlanOperation, rows: readonly object[]): PlanInput => ({
  operation,
  source: { rows },
});

async function plan(operation: PlanOperation, rows: readonly object[]) {
  const { rows: planned } = await planner.plan(wantRows(operation, rows));
  return planned.map(({ action, message }) => (message === null ? action : [action, message]));
}

async function run(operation: PlanOperation, rows: readonly object[]) {
  return planner.run((await planner.plan(wantRows(operation, rows))).plan);
}

describe("the second of two update rows", () => {
  test("is rejected if it has the first row's ID in different letter case", async () => {
    const { id } = await planner.make({ path: "a" });
    const message = "The same id is in rows 1 and 2; keep one of them";
    const rows = [id.toUpperCase(), id].map((each) => ({ id: each, name: "A" }));
    expect(await plan("update", rows)).toEqual(["update", ["invalid", message]]);
  });

  test("is rejected if it moves its link to the first row's path", async () => {
    await planner.make({ path: "a" });
    const { id } = await planner.make({ path: "b" });
    const message = "The same path is in rows 1 and 2; keep one of them";
    const rows = [
      { path: "a", name: "A" },
      { id, path: "/a" },
    ];
    expect(await plan("update", rows)).toEqual(["update", ["invalid", message]]);
  });
});

describe("an upsert row", () => {
  test("with an ID and a path matches only a link that has both", async () => {
    const { id } = await planner.make({ path: "a" });
    const both =
      "No link has both this ID and this path; to change the path, use the operation update; " +
      "to write by path, remove the ID";
    const pathless = "An upsert needs a path; to write by ID, use the operation update";
    expect(
      await plan("upsert", [
        { id, path: "a", url },
        { id: missingId, path: "b", url },
        { path: "c", url },
      ]),
    ).toEqual(["update", ["conflict", both], "create"]);
    expect(await plan("upsert", [{ id, path: "moved" }])).toEqual([["conflict", both]]);
    expect(await plan("upsert", [{ id, url }])).toEqual([["conflict", pathless]]);
  });

  test("is invalid if its path contains a question mark or a hash sign", async () => {
    const fault =
      "Path can't contain a question mark or a hash sign: add parameters to the link's address";
    const { id } = await planner.make({ path: "plain" });
    expect(await plan("upsert", [{ path: "new#top", name: "New" }])).toEqual([["invalid", fault]]);
    expect(await plan("update", [{ id, path: "plain?id=1" }])).toEqual([["invalid", fault]]);
  });

  test("can have white space around its path only if the row has an ID", async () => {
    const { id } = await planner.make({ path: " a" });
    const message = "Path starts or ends with a space; remove it";
    expect(await plan("upsert", [{ id, path: " a", url }])).toEqual(["update"]);
    expect(await plan("upsert", [{ path: "a\u3000" }])).toEqual([["invalid", message]]);
  });

  test("is invalid if an earlier row has the same path, even if encoded differently", async () => {
    const message = "The same path is in rows 1 and 2; keep one of them";
    const rows = [{ path: "café" }, { path: "/cafe%CC%81" }, { path: "Café" }];
    expect(await plan("upsert", rows)).toEqual(["create", ["invalid", message], "create"]);
  });

  test("can use a market: URL only as the Android fallback URL", async () => {
    const market = "market://details?id=com.example.app";
    const notWeb = "Url must be an http or https address (market: is for android_fallback_url)";
    expect(
      await plan("upsert", [
        { path: "a", android_fallback_url: market },
        { path: "b", url: market },
      ]),
    ).toEqual(["create", ["invalid", notWeb]]);
  });

  test("causes a conflict if its path is another link's short path", async () => {
    const { shortened_path: path } = await planner.make({ options: { shorten: true } });
    expect(await plan("upsert", [{ path, url }])).toEqual([
      ["conflict", "The path is already another link's short path"],
    ]);
  });

  test("adds a short path only to a new link", async () => {
    const rows = [{ path: "a", options: { shorten: true } }];
    expect((await run("upsert", rows)).counts).toMatchObject({ done: 1 });
    expect(await planner.listLinks()).toMatchObject([{ shortened_path: expect.any(String) }]);
    expect(await plan("upsert", rows)).toEqual(["unchanged"]);
  });
});

describe("an update row", () => {
  test("can move a link to a free path or to a path freed by an earlier row", async () => {
    const [a, b] = [await planner.make({ path: "a" }), await planner.make({ path: "b" })];
    const rows = [
      { id: a.id, path: "c" },
      { id: b.id, path: "a" },
    ];
    expect(await plan("update", rows)).toEqual(["update", "update"]);
    expect((await run("update", rows)).counts).toMatchObject({ done: 2 });
    expect((await planner.listLinks()).map(({ path }) => path)).toEqual(["c", "a"]);
  });

  test("cannot move a link to another link's path or short path", async () => {
    const a = await planner.make({ path: "a", options: { shorten: true } });
    const b = await planner.make({ path: "b" });
    const taken = ["conflict", "The new path is already taken"];
    expect(await plan("update", [{ id: a.id, path: "b" }])).toEqual([taken]);
    expect(await plan("update", [{ id: b.id, path: a.shortened_path }])).toEqual([taken]);
    expect(await plan("update", [{ id: a.id, path: a.shortened_path }])).toEqual([taken]);
    const swap = [
      { id: a.id, path: "b" },
      { id: b.id, path: "a" },
    ];
    expect(await plan("update", swap)).toEqual([taken, taken]);
  });

  test("causes a conflict if its link does not exist", async () => {
    const rows = [
      { id: missingId, name: "A" },
      { path: "nowhere", name: "B" },
    ];
    const gone = ["conflict", "This link does not exist"];
    expect(await plan("update", rows)).toEqual([gone, gone]);
  });

  test("writes only the changed fields, but both App Store tokens if one changes", async () => {
    const tokens = { provider_token: "117", campaign_token: "spring" };
    await planner.make({ path: "a", name: "A", url, ...tokens });
    const row = { path: "a", name: "A", url: `${url}new`, ...tokens, campaign_token: "summer" };
    const { rows } = await planner.plan(wantRows("update", [row]));
    expect(rows[0]?.fields).toEqual({ url: `${url}new`, ...tokens, campaign_token: "summer" });
  });

  test("treats white space and empty text as different values", async () => {
    await planner.make({ path: "a", name: " " });
    expect(await plan("update", [{ path: "a", name: "" }])).toEqual(["update"]);
    expect(await plan("update", [{ path: "a", name: " " }])).toEqual(["unchanged"]);
    expect(await plan("update", [{ path: "a", social_title: "" }])).toEqual(["unchanged"]);
  });
});

describe("a delete row", () => {
  test("with an ID and a path matches only a link that has both", async () => {
    const { id } = await planner.make({ path: "a" });
    expect(await plan("delete", [{ id, path: "a" }])).toEqual(["delete"]);
    expect(await plan("delete", [{ id, path: "b" }])).toEqual([
      ["conflict", "The link with this ID now has another path"],
    ]);
  });
});

describe("an app in a row", () => {
  const ios = { bundle_id: "com.example.shop", team_id: "ABCDE12345" };
  const android = { package_name: "com.example.shop", fingerprints: [sha256] };

  test("is registered together with the link if all required fields are given", async () => {
    const rows = [{ path: "a", ios_app: ios, android_app: android }];
    expect(await plan("upsert", rows)).toEqual(["create"]);
    expect((await run("upsert", rows)).counts).toMatchObject({ done: 1 });
    expect(await plan("upsert", rows)).toEqual(["unchanged"]);
    const names = [{ path: "a", ios_app: { bundle_id: ios.bundle_id } }];
    expect(await plan("upsert", names)).toEqual(["unchanged"]);
  });

  test.each([
    ["iOS", "ios_app", ios, { ...ios, app_store_id: "666" }],
    [
      "Android",
      "android_app",
      android,
      { ...android, fingerprints: [sha256, sha256.replace(/^../, "00")] },
    ],
  ])(
    "must have the same fields in all rows if it is not registered: %s",
    async (kind, field, app, other) => {
      const same = Object.fromEntries(Object.entries(app).toReversed());
      const apps = [app, same, other, app];
      const rows = apps.map((each, index) => ({ path: `p${index}`, [field]: each }));
      const told = `The fields of the ${kind} app com.example.shop differ from those in row 1;`;
      const planned = ["create", "create", ["invalid", `${told} use the same in both`], "create"];
      expect(await plan("upsert", rows)).toEqual(planned);
      // An app that is already registered is not registered again.
      await run("upsert", rows.slice(0, 1));
      expect(await plan("upsert", rows.slice(1))).toEqual(["create", "create", "create"]);
    },
  );

  test("is valid even if an invalid row describes the same app differently", async () => {
    const rows = [
      { path: "a", url: "nowhere", ios_app: { ...ios, team_id: "ZZZZZ12345" } },
      { path: "b", ios_app: ios },
    ];
    const [invalid, sound] = await plan("upsert", rows);
    expect([invalid?.[0], sound]).toEqual(["invalid", "create"]);
  });

  test("causes a conflict if it is not registered and lacks required fields", async () => {
    await planner.make({ path: "b" });
    const missing = "com.example.shop is not registered";
    const ios_app = { bundle_id: "com.example.shop" };
    const android_app = { package_name: "com.example.shop" };
    const rows = [
      { path: "a", ios_app },
      { path: "b", android_app },
      { path: "c", ios_app, android_app },
    ];
    const iosMissing = `The iOS app ${missing}`;
    const advice = "register it first, or leave it out";
    expect(await plan("upsert", rows)).toEqual([
      ["conflict", `${iosMissing}; ${advice}`],
      ["conflict", `The Android app ${missing}; ${advice}`],
      ["conflict", `${iosMissing}; ${advice}; The Android app ${missing}; ${advice}`],
    ]);
  });

  test("is found by its ID in any letter case, but an unknown ID causes a conflict", async () => {
    const link = await planner.make({ path: "a", ios_app: ios });
    const upper = link.ios_app_id?.toUpperCase();
    expect(await plan("update", [{ path: "a", ios_app: { id: upper } }])).toEqual(["unchanged"]);
    expect(await plan("update", [{ path: "a", android_app: { id: missingId } }])).toEqual([
      ["conflict", `No Android app has the ID ${missingId}`],
    ]);
  });

  test("is not checked during planning if the key lacks permission to list apps", async () => {
    await planner.make({ path: "a", ios_app: ios });
    const { world, bulk } = planner;
    const scopes = ["links.index", "links.create", "links.update"] as const;
    const { client } = createTimedClient({ world, key: await world.addKey({ scopes }) });
    const rows = [
      { path: "a", ios_app: { bundle_id: ios.bundle_id } },
      { path: "b", url },
    ];
    const owner = { ...planner.owner, call: client.call };
    const made = await bulk.plan(wantRows("upsert", rows), owner);
    expect(made.counts).toMatchObject({ update: 1, create: 1 });
  });

  test("is looked up with one request for the whole plan", async () => {
    await planner.plan(wantRows("upsert", [{ path: "a" }, { path: "b" }]));
    expect(planner.calls).not.toContain("list_ios_apps");
    const rows = Array.from({ length: 250 }, (_, index) => ({ path: `p${index}`, ios_app: ios }));
    await planner.plan(wantRows("upsert", rows));
    expect(planner.calls.filter((tool) => tool === "list_ios_apps")).toHaveLength(1);
    expect(planner.calls).not.toContain("list_android_apps");
  });
});

describe("looking up the links of a plan", () => {
  test("needs one request per hundred rows", async () => {
    await planner.makeMany(250, "p");
    const rows = (await planner.listLinks()).map(({ id, path }) => ({ id, path, name: "New" }));
    expect(rows).toHaveLength(100);
    planner.calls.length = 0;
    const { plan: made } = await planner.plan(wantRows("update", rows));
    expect(made.counts).toMatchObject({ update: 100 });
    expect(planner.calls).toEqual(["list_links"]);
  });

  test("puts only as many paths into a request as fit into its URL", async () => {
    const paths = Array.from({ length: 30 }, (_, index) => `${index}${"é".repeat(900)}`);
    for (const path of paths) await planner.make({ path });
    const rows = paths.map((path) => ({ path, name: "New" }));
    expect((await planner.plan(wantRows("upsert", rows))).plan.counts).toMatchObject({
      update: 30,
    });
  });
});

describe("changes to all links that match filters", () => {
  const filters = [{ field: "name", condition: "cont", value: "spring" }] as const;

  test.each<[LinkFields, string]>([
    [{ url: "javascript:alert(1)" }, "Url must be an http or https address"],
    [{ path: "a" }, "Path must be unique, so it cannot be set for many links at once"],
    [{ provider_token: "117" }, "Provider token must be sent together with campaign token"],
    [{ ios_app: {} }, "Ios app needs exactly one of id or bundle_id"],
    [{ ios_app: { bundle_id: "a b" } }, 'The iOS app "a b" is not registered'],
    [{ options: { shorten: true } }, "A link can get a short path only when it is created"],
    [{ ios_app: { bundle_id: "a.b" } }, "The iOS app a.b is not registered"],
  ])(
    "are rejected before any link is read if the fields are invalid: %j",
    async (changes, message) => {
      const wanted = { operation: "update", filters, changes } as const;
      await expect(planner.plan(wanted)).rejects.toThrow(message);
      expect(planner.calls).not.toContain("list_links");
    },
  );

  test("are planned only for matching links that do not already have the new values", async () => {
    await planner.make({ path: "a", name: "Spring A", url });
    await planner.make({ path: "b", name: "Spring B", url: `${url}new` });
    await planner.make({ path: "c", name: "Summer", url });
    const changes = { url: `${url}new`, social_title: "" };
    const { rows } = await planner.plan({ operation: "update", filters, changes });
    const planned = rows.map(({ action, path, fields }) => [path, action, fields]);
    expect(new Map(planned.map(([path, ...rest]) => [path, rest]))).toEqual(
      new Map([
        ["a", ["update", { url: `${url}new` }]],
        ["b", ["unchanged", null]],
      ]),
    );
  });
});

describe("a row that exceeds the project's pricing plan", () => {
  test("is rejected with the reason, and the other rows are applied", async () => {
    const rows = [
      { path: "a", url },
      { path: "b", referrer: "utm_source=a" },
      { path: "c", options: { shorten: true } },
      { path: "d", url },
    ];
    const { job, ends } = await applyFree(rows, 100);
    expect(job).toMatchObject({ state: "done", counts: { done: 2, rejected: 2, left: 0 } });
    expect(ends).toEqual([
      "done",
      quote("The Pro plan is needed for referrer."),
      quote("The Pro plan is needed for options.shorten."),
      "done",
    ]);
  });

  test("is rejected with an error that states how many links the plan allows", async () => {
    const rows = ["a", "b", "c", "d"].map((path) => ({ path, url }));
    const { job, ends } = await applyFree(rows, 2);
    expect(job).toMatchObject({ state: "done", counts: { done: 2, rejected: 2, left: 0 } });
    const full = quote("The Free plan allows 2 links, and the project has reached this limit.");
    expect(ends.filter((end) => end === full)).toHaveLength(2);
  });
});

function quote(message: string): string {
  return `The server at localhost:8787 answered: "${message}"`;
}

async function applyFree(rows: readonly object[], max_links: number) {
  const { world, bulk } = planner;
  const key = await world.addKey({
    project: await world.addProject({ plan: "free", max_links }),
  });
  const owner = { ...planner.owner, call: createTimedClient({ world, key }).client.call };
  const made = await bulk.plan(wantRows("upsert", rows), owner);
  const job = await planner.run(made, owner);
  const receipts = await bulk.listReceipts(job, { limit: 100 });
  return { job, ends: receipts.map(({ status, message }) => message ?? status) };
}
