import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  withBody,
  type Alter,
  beSlow,
  ignoreOwn,
  createStrangeWorld,
  type StrangeWorld,
} from "../../support/remote.ts";
import { callDone, callRefused, type Args } from "../../support/mcp-clients.ts";
import { openForEach } from "../../support/open-for.ts";
import { day, plantLinks, type Seed } from "../../support/planting.ts";
import { addLink } from "../../support/rows.ts";

/** Links can be found by any field, even on a server with only the filters of the specification. */

let strange: StrangeWorld;
openForEach(createStrangeWorld, async (opened) => {
  strange = opened;
  const { world } = strange;
  for (const [name, bundle_id] of [
    ["Acme Shop", "com.acme.shop"],
    [null, "com.acme.bare"],
  ]) {
    const ios_app = { name, bundle_id, team_id: "TEAM000001" };
    const reply = await world.call("POST", "/ios_apps", { body: { ios_app } });
    expect(reply.status).toBe(201);
  }
  await plantLinks(world, seeds);
});

const hosts = ["old.example", "OLD.example", "new.example"];
const seeds = Array.from({ length: 24 }, (_, index): Seed => ({
  name: index % 5 === 0 ? null : `${index % 2 === 0 ? "Spring" : "Blüte"} ${index}`,
  path: `${index % 3 === 0 ? "sale" : "news"}/${index}`,
  isShortened: index % 4 === 0,
  ios_app_bundle_id: [null, "com.acme.shop", "com.acme.bare"][index % 3],
  more: {
    url: index % 6 === 0 ? null : `https://${hosts[index % 3]}/é/${index % 7}`,
    ios_fallback_url: index % 4 === 0 ? "https://old.example/ios" : null,
    referrer: index % 8 === 0 ? "utm=Été" : null,
    social_title: index % 7 === 0 ? "Ein Titel" : null,
  },
  pause: day / 4,
}));

function listAsked(): readonly URLSearchParams[] {
  return strange.proxy.requests
    .filter(({ path }) => path.startsWith("/api/v1/links?"))
    .map(({ path }) => new URLSearchParams(path.split("?")[1]));
}

type Filter = { readonly field: string; readonly condition: string; readonly value: unknown };
const conditions = "eq not_eq cont start in gt lteq null present empty".split(" ");
const fields = ["url", "ios_fallback_url", "android_fallback_url", "referrer", "ios_app_name"];
const texts = fc.constantFrom(
  "https://old.example/é/1",
  "OLD.EXAMPLE",
  "https://n",
  "/É/",
  "com.acme.bare",
  "acme",
  "Acme Shop",
  "utm=Été",
);
const own: fc.Arbitrary<Filter> = fc
  .tuple(fc.constantFrom(...fields), fc.constantFrom(...conditions))
  .chain(([field, condition]) => {
    const isFlag = ["null", "present", "empty"].includes(condition);
    const many = fc.array(texts, { minLength: 1, maxLength: 3 });
    const value = isFlag ? fc.boolean() : condition === "in" ? many : texts;
    return fc.record({ field: fc.constant(field), condition: fc.constant(condition), value });
  });
const plain: fc.Arbitrary<Filter> = fc.constantFrom(
  { field: "path", condition: "start", value: "news" },
  { field: "name", condition: "empty", value: true },
  { field: "ios_app_bundle_id", condition: "empty", value: false },
);
const words = ["spring", "SALE blüte", "titel", "new.example", "/news/1", "nothing", "é/3 spring"];
const address = "http://default.localhost:8787/news/7?utm=1";
const asked = fc
  .record({
    own: fc.uniqueArray(own, {
      maxLength: 2,
      selector: ({ field, condition }) => field + condition.replace("empty", "present"),
    }),
    plain: fc.option(plain),
    search: fc.option(fc.constantFrom(...words, address)),
    sort: fc.option(
      fc.constantFrom(
        { field: "path", direction: "asc" },
        { field: "created_at", direction: "desc" },
      ),
    ),
    page: fc.constantFrom(1, 2),
    limit: fc.constantFrom(3, 100),
  })
  .map(({ own: ours, plain: theirs, search, sort, page, limit }): Args => ({
    filters: [...ours, ...(theirs === null ? [] : [theirs])],
    ...(search !== null && { search }),
    ...(sort !== null && { sort }),
    page,
    limit,
  }));

test("list_links returns the same links from a server with fewer filters", async () => {
  const [questions = []] = fc.sample(fc.array(asked, { minLength: 120, maxLength: 120 }), 1);
  const native = [];
  for (const question of questions) native.push(await listAnswer(question));
  ignoreOwn(strange);
  for (const [index, question] of questions.entries()) {
    expect({ question, ...(await listAnswer(question)) }).toEqual({ question, ...native[index] });
  }
  expect(native.filter(({ count }) => count > 0).length).toBeGreaterThan(20);
});

async function listAnswer(question: Args) {
  const { links, meta } = await callDone(strange, "list_links", question);
  const { count, page, limit, last, from = 0, to = 0, next } = meta;
  const ids = links.map(({ id }: { id: string }) => id);
  return { ids, count, page, limit, last, from, to, next };
}

test("a remote Waypost answers all filters in one request", async () => {
  const client = await strange.connect({ key: strange.world.key });
  await client.listTools();
  const before = listAsked().length;
  const filters = [{ field: "url", condition: "cont", value: "OLD.example" }];
  const found = await callDone(client, "list_links", { filters, search: "spring" });
  expect(found.links.length).toBeGreaterThan(2);
  const [request, ...more] = listAsked().slice(before);
  expect(more).toEqual([]);
  expect(request?.get("f[url_cont]")).toBe("OLD.example");
  expect(request?.get("f[search]")).toBe("spring");
});

test("list_links finds a link of a remote Waypost by its short URL", async () => {
  const host = "http://default.localhost:8787";
  const url = `${host}/news/7?utm_source=mail`;
  const { link } = await callDone(strange, "shorten_link", { url });
  expect(link.shortened_path).toEqual(expect.any(String));
  const shown = await callDone(strange, "get_link", { id: "news/7" });
  expect(shown.link.shortened_path).not.toBe(link.shortened_path);
  const before = listAsked().length;
  const selection = { search: `${host}/${link.shortened_path}` };
  const found = await callDone(strange, "list_links", selection);
  expect(found.links.map(({ path }: { path: string }) => path)).toEqual(["news/7"]);
  expect(listAsked()).toHaveLength(before + 1);
  const { plan } = await callDone(strange, "plan_links", { operation: "delete", ...selection });
  expect(plan.counts.delete).toBe(1);
});

describe("Waypost applies filters itself", () => {
  const filters = [{ field: "url", condition: "start", value: "https://new.example" }];

  test.each<[sentence: string, alter: Alter]>([
    [
      "if a server wrongly claims that it applied them",
      (_, reply) =>
        withBody(reply, (body: { meta?: object }) =>
          body.meta ? { ...body, meta: { ...body.meta, applied: ["url_start"] } } : body,
        ),
    ],
    [
      "if a server rejects unknown filters",
      ({ path }, reply) =>
        path.includes("f%5B")
          ? { ...reply, status: 400, body: '{"error":"Unpermitted parameter: f"}' }
          : reply,
    ],
  ])("%s", async (_, alter) => {
    const native = await listAnswer({ filters });
    ignoreOwn(strange);
    strange.proxy.setAlter(alter);
    expect(await listAnswer({ filters })).toEqual(native);
  });
});

describe("plans and exports of a server with fewer filters", () => {
  test.each<Args>([
    { filters: [{ field: "url", condition: "cont", value: "old.EXAMPLE" }] },
    { filters: [{ field: "ios_app_name", condition: "eq", value: "Acme Shop" }] },
    { filters: [], search: "blüte news" },
  ])("contain every selected link: %j", async (selection) => {
    const plan = { operation: "delete", ...selection };
    const [own_plan, own_export] = [
      (await callDone(strange, "plan_links", plan)).plan.counts,
      (await callDone(strange, "export_links", selection)).export.count,
    ];
    ignoreOwn(strange);
    expect(own_plan.delete).toBeGreaterThan(2);
    expect((await callDone(strange, "plan_links", plan)).plan.counts).toEqual(own_plan);
    expect((await callDone(strange, "export_links", selection)).export.count).toBe(own_export);
  });

  test("are rejected if a link lacks a field that the filters need", async () => {
    const filters = [{ field: "url", condition: "cont", value: "new.example" }];
    const { links } = await callDone(strange, "list_links", { filters });
    const silent = links[1].id;
    ignoreOwn(strange);
    strange.proxy.setAlter((_, reply) =>
      withBody(reply, (body: { links?: readonly { id: string; url?: string }[] }) =>
        body.links
          ? {
              ...body,
              links: body.links.map((link) =>
                link.id === silent ? { ...link, url: undefined } : link,
              ),
            }
          : body,
      ),
    );
    const found = await callDone(strange, "list_links", { filters });
    expect(found.links).toHaveLength(links.length - 1);
    expect(found.problems).toHaveLength(1);
    for (const tool of ["plan_links", "export_links"]) {
      const wanted = { filters, ...(tool === "plan_links" && { operation: "delete" }) };
      const refused = await callRefused(strange, tool, wanted);
      expect(refused).toMatchObject({ code: "bad_response", effect: "none", retry: "never" });
      expect(refused.message).toContain("does not return every field that these filters need");
    }
  });
});

test("an audit on a server with fewer filters does not count unvisited links", async () => {
  strange.advance(200 * day);
  const filters = [{ field: "url", condition: "cont", value: "new.example" }];
  const read = async () => {
    const { audit } = await callDone(strange, "audit_links", { filters });
    const groups: readonly { code: string; count: number }[] = audit.groups;
    const never = groups.find(({ code }) => code === "never_clicked");
    return { checked: audit.checked, never: never?.count, not: JSON.stringify(audit.not_checked) };
  };
  const own = await read();
  expect(own.never).toBe(own.checked);
  ignoreOwn(strange);
  const other = await read();
  expect(other).toMatchObject({ checked: own.checked, never: undefined });
  expect(other.not).toContain("Links never visited: this server cannot count");
});

describe("a list of links that takes too long for one call", () => {
  test("is returned in part, and the next call continues it", async () => {
    const question = { search: "spring", sort: { field: "path", direction: "asc" } };
    const { ids } = await listAnswer({ ...question, limit: 100 });
    beSlow(strange);
    const found: string[] = [];
    let after: number | undefined;
    let turns = 0;
    for (; turns < 9; turns += 1) {
      const given = { ...question, limit: 3, ...(after !== undefined && { after }) };
      const { links, meta, next } = await callDone(strange, "list_links", given);
      found.push(...links.map(({ id }: { id: string }) => id));
      if (meta.complete !== false) break;
      expect(meta.of).toBe(seeds.length);
      expect(meta.checked).toBeGreaterThan(after ?? 0);
      expect(next).toContain(`time to check ${meta.checked} of ${seeds.length} links`);
      expect(next).toContain(`call list_links with after ${meta.checked}`);
      after = meta.checked;
    }
    expect(found).toEqual(ids);
    expect(turns).toBeGreaterThan(1);
  });

  test("is read in one call if the server's own filters leave few links", async () => {
    beSlow(strange);
    const filters = [
      { field: "path", condition: "in", value: ["news/1", "news/2", "sale/3"] },
      { field: "url", condition: "present", value: true },
    ];
    const { links, meta } = await callDone(strange, "list_links", { filters });
    expect(links).toHaveLength(3);
    expect(meta).not.toHaveProperty("complete");
  });
});

test("audit_links reports an incomplete audit, and the next call completes it", async () => {
  const { world, proxy } = strange;
  await world.store.write(async (db) => {
    for (let index = 0; index < 3000; index += 1) {
      world.advance(1000);
      await addLink({ db, projectId: world.project.id }, `more/${index}`, { now: world.now() });
    }
  });
  const all = seeds.length + 3000;
  proxy.setAlter((request, reply) => {
    if (request.path.startsWith("/api/v1/links?")) strange.advance(400);
    return reply;
  });
  const first = (await callDone(strange, "audit_links")).audit;
  expect(first).toMatchObject({ complete: false, next: { tool: "audit_links" } });
  expect(first.checked).toBeGreaterThan(0);
  expect(first.checked).toBeLessThan(all);
  expect(JSON.stringify(first.not_checked)).toContain(`after the first ${first.checked}`);
  proxy.setAlter((_, reply) => reply);
  const rest = (await callDone(strange, first.next.tool, first.next.arguments)).audit;
  expect(rest).toMatchObject({ complete: true });
  expect(rest).not.toHaveProperty("next");
  expect(rest.checked).toBeLessThan(all);
  expect(first.checked + rest.checked).toBeGreaterThanOrEqual(all);
});

test.each([414, 431])(
  "filters that are too long for a URL (%d) are applied by Waypost",
  async (status) => {
    strange.proxy.setAlter(({ path }, reply) =>
      path.length > 8000 ? { ...reply, status } : reply,
    );
    const many = Array.from({ length: 300 }, (_, index) => `https://old.example/é/${index}`);
    const filters = [{ field: "url", condition: "in", value: many }];
    const { links } = await callDone(strange, "list_links", { filters });
    expect(links.length).toBeGreaterThan(0);

    const paths = [{ field: "path", condition: "in", value: many }];
    const refused = await callRefused(strange, "list_links", { filters: paths });
    expect(refused).toMatchObject({ code: "bad_request", effect: "none", retry: "now" });
  },
);

test("a filter by app name is rejected with the scope that the key lacks", async () => {
  const key = await strange.world.addKey({ scopes: ["links.index", "links.show"] });
  const client = await strange.connect({ key });
  const filters = [{ field: "ios_app_name", condition: "cont", value: "acme" }];
  expect((await callDone(client, "list_links", { filters })).links.length).toBeGreaterThan(2);
  ignoreOwn(strange);
  const refused = await callRefused(client, "list_links", { filters });
  expect(refused).toMatchObject({ code: "scope_missing", effect: "none" });
  expect(refused.message).toContain("ios_apps.index");
  strange.proxy.setAlter(({ path }, reply) =>
    path.startsWith("/api/v1/ios_apps")
      ? { ...reply, status: 403, body: '{"error":"Insufficient scope."}' }
      : reply,
  );
  for (const tool of ["list_links", "export_links"]) {
    const vague = await callRefused(client, tool, { filters });
    expect(vague).toMatchObject({ code: "scope_missing", effect: "none" });
    expect(vague.next).toContain("a key with the scope ios_apps.index");
  }
});

test("list_links rejects impossible arguments without a request", async () => {
  const before = listAsked().length;
  for (const [args, message] of [
    [{ search: " " }, "must not be empty"],
    [
      { filters: [{ field: "created_via", condition: "eq", value: "mail" }] },
      "must be api or console",
    ],
    [{ filters: [{ field: "url", condition: "empty", value: "yes" }] }, "true or false"],
    [{ sort: { field: "url", direction: "asc" } }, "sort.field"],
  ] as const) {
    const refused = await callRefused(strange, "list_links", args);
    expect(refused.code).toBe("invalid_arguments");
    expect(JSON.stringify(refused)).toContain(message);
  }
  expect(listAsked()).toHaveLength(before);
});
