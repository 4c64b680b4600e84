import { beforeEach, describe, expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** Plans accept the names of links and apps that a user would write. */

let assistant: AssistantWorld;
let shop: { readonly id: string };
let legacy: { readonly id: string };

openForEach(
  () => createAssistantWorld({ mode: "full" }),
  async (opened) => {
    assistant = opened;
    const team_id = "ABCDE12345";
    const plant = (bundle_id: string, name: string) =>
      assistant.plant("ios_app", { bundle_id, team_id, name });
    shop = await plant("com.acme.shop", "Acme Shop");
    legacy = await plant("com.acme.legacy", "Acme Legacy");
  },
);

const call: AssistantWorld["call"] = (...asked) => assistant.call(...asked);

async function readLink(id: string) {
  return (await assistant.world.call("GET", `/links/${id}`)).body;
}

describe("a plan that replaces an app", () => {
  let old: { readonly id: string };

  beforeEach(async () => {
    old = await assistant.plant("link", { path: "old", ios_app: { id: legacy.id } });
  });

  test.each([{ bundle_id: "Acme Shop" }, { id: "acme shop" }, { id: "com.acme.shop" }])(
    "finds the new app by %j",
    async (ios_app) => {
      const { plan, error } = await call("plan_links", {
        operation: "update",
        filters: [{ field: "ios_app_name", condition: "eq", value: "Acme Legacy" }],
        changes: { ios_app },
      });
      expect(plan?.counts, JSON.stringify(error)).toMatchObject({ update: 1 });
      expect((await call("apply_plan", { plan_id: plan.id })).job).toMatchObject({ state: "done" });
      expect((await readLink(old.id)).ios_app_id).toBe(shop.id);
    },
  );

  test("finds the new app by its name in rows and in CSV", async () => {
    for (const ios_app of [{ bundle_id: "Acme Shop" }, { id: "Acme shop" }]) {
      const rows = [{ path: "old", ios_app }];
      const { plan } = await call("plan_links", { operation: "update", rows });
      expect(plan.counts, JSON.stringify(plan)).toMatchObject({ update: 1, invalid: 0 });
    }
    const csv = 'path,ios_app.bundle_id\nold,"Acme Shop"';
    const { plan } = await call("plan_links", { operation: "update", csv });
    expect(plan.counts, JSON.stringify(plan)).toMatchObject({ update: 1, invalid: 0 });
  });
});

test("plan_links suggests apps if the name of an app is ambiguous or unknown", async () => {
  await assistant.plant("ios_app", {
    bundle_id: "com.acme.shop2",
    team_id: "ABCDE12345",
    name: "Acme Shop",
  });
  const rows = ["Acme Shop", "Acme Legcy"].map((id, row) => ({ path: `p${row}`, ios_app: { id } }));
  const { plan } = await call("plan_links", { operation: "upsert", rows });
  const [several, mistyped] = plan.problems;
  expect(several).toMatchObject({
    row: 1,
    field: "ios_app",
    message:
      'More than one iOS app is named "Acme Shop": ' +
      '"Acme Shop" (com.acme.shop), "Acme Shop" (com.acme.shop2)',
  });
  expect(mistyped.message).toContain('did you mean "Acme Legacy" (com.acme.legacy)?');
  expect(plan.problems).toHaveLength(2);
});

describe("a row of a plan", () => {
  const host = "default.localhost:8787";
  let spring: { readonly id: string; readonly shortened_path: string };

  beforeEach(async () => {
    const fields = { path: "spring", name: "Spring", options: { shorten: true } };
    spring = (await assistant.world.call("POST", "/links", { body: fields })).body;
    await assistant.plant("link", { path: "slashed" });
    await assistant.plant("link", { path: "other" });
  });

  test.each([
    ["id", "a URL", () => `http://${host}/spring`],
    ["path", "a URL without scheme and port", () => "default.localhost/spring"],
    ["id", "a URL with a query and a slash", () => `https://${host}/spring/?utm=1`],
    ["path", "a path with a slash and a query", () => "/spring?x=1"],
    ["id", "a short path", () => spring.shortened_path],
    ["path", "a short URL", () => `${host}/${spring.shortened_path}`],
  ])('finds its link if the field "%s" contains %s', async (field, _, write) => {
    const row = { [field]: write() };
    const updating = { operation: "update", rows: [{ ...row, url: "https://x.example/new" }] };
    const { plan, error } = await call("plan_links", updating);
    expect(plan?.counts, JSON.stringify([plan, error])).toMatchObject({ update: 1 });
    expect(plan.sample[0]).toMatchObject({ path: "spring" });
    const { plan: deleting } = await call("plan_links", { operation: "delete", rows: [row] });
    expect(deleting.counts, JSON.stringify(deleting)).toMatchObject({ delete: 1, conflict: 0 });
    const { job } = await call("apply_plan", { plan_id: deleting.id });
    expect(job.state).toBe("done");
    expect((await assistant.world.call("GET", `/links/${spring.id}`)).status).toBe(404);
  });

  test("can find its link by URL and give it a new path", async () => {
    const rows = [{ id: `${host}/spring`, path: "summer" }];
    const { plan } = await call("plan_links", { operation: "update", rows });
    await call("apply_plan", { plan_id: plan.id });
    expect((await readLink(spring.id)).path).toBe("summer");
  });

  test("is invalid if an earlier row identifies the same link", async () => {
    const ids = [`${host}/spring`, spring.shortened_path, "Spring"];
    const rows = [{ path: "spring" }, ...ids.map((id) => ({ id }))];
    const { plan } = await call("plan_links", { operation: "delete", rows });
    expect(plan.counts).toMatchObject({ delete: 1, conflict: 0, invalid: 3 });
  });

  test("cannot identify its link by a URL on a host that is not the project's", async () => {
    const rows = [{ id: "https://elsewhere.example/spring" }];
    const { plan } = await call("plan_links", { operation: "delete", rows });
    expect(plan.counts).toMatchObject({ delete: 0, conflict: 1 });
    expect(JSON.stringify(plan.sample)).toContain(
      'the link host is \\"default.localhost:8787\\", not \\"elsewhere.example\\". ' +
        'The link at \\"http://default.localhost:8787/spring\\" is \\"Spring\\"',
    );
  });

  test("finds a link by its exact path even if the path looks like a URL", async () => {
    await assistant.plant("link", { path: `${host}/spring`, name: "Exact" });
    const rows = [{ id: `${host}/spring` }];
    const { plan } = await call("plan_links", { operation: "delete", rows });
    expect(plan.sample[0].path).toBe(`${host}/spring`);
  });

  test.each(["Spring", " spring SALE "])("finds its link by the name %j", async (id) => {
    const other = await assistant.plant("link", { path: "sale", name: "Spring sale" });
    const rows = [{ id, url: "https://x.example/new" }];
    const { plan } = await call("plan_links", { operation: "update", rows });
    expect(plan.counts, JSON.stringify(plan)).toMatchObject({ update: 1, conflict: 0 });
    await call("apply_plan", { plan_id: plan.id });
    const meant = id === "Spring" ? spring.id : other.id;
    expect((await readLink(meant)).url).toBe("https://x.example/new");
  });

  test("cannot identify its link by a name that two links have", async () => {
    await assistant.plant("link", { path: "twin", name: "Spring sale" });
    await assistant.plant("link", { path: "sale", name: "Spring sale" });
    const rows = [{ id: "Spring sale" }];
    const { plan } = await call("plan_links", { operation: "delete", rows });
    expect(plan.counts).toMatchObject({ delete: 0, conflict: 1 });
    const { message } = plan.sample[0];
    expect(message).toMatch(/^Several links match: "(twin" and "sale|sale" and "twin)";/);
  });

  test("cannot identify a link by giving the link's name as the path", async () => {
    await assistant.plant("link", { path: "other-path", name: "gone" });
    const rows = [{ path: "gone" }];
    const { plan } = await call("plan_links", { operation: "delete", rows });
    expect(plan.sample[0].message).toBe("This link does not exist");
  });

  test("may give a full URL as path without an extra request for each row", async () => {
    const many = Array.from({ length: 90 }, (_, number) => `many${number}`);
    for (const path of many) await assistant.plant("link", { path });
    const byPath = await countRequests(many.map((path) => ({ path })));
    const byAddress = await countRequests(many.map((path) => ({ path: `http://${host}/${path}` })));
    expect(byAddress - byPath).toBeLessThanOrEqual(3);
  });
});

async function countRequests(rows: readonly object[]) {
  const before = assistant.countAsked();
  await call("plan_links", { operation: "delete", rows });
  return assistant.countAsked() - before;
}
