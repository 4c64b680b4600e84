import { describe, expect, test } from "vitest";
import {
  withBody,
  ignoreOwn,
  createStrangeWorld,
  type StrangeWorld,
} from "../../support/remote.ts";
import { callDone, callRefused, type Args } from "../../support/mcp-clients.ts";
import { openForEach } from "../../support/open-for.ts";
import { day, plantLinks, type Seed } from "../../support/planting.ts";
import { addLink } from "../../support/rows.ts";

/** Filters that only Waypost has: a server without them makes the call fail. */

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

test("list_links sends all filters to a remote Waypost server in one request", async () => {
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

test("list_links finds a link on a remote Waypost server by its short URL", async () => {
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

const ownFilter = [{ field: "url", condition: "start", value: "https://new.example" }];

describe("a remote server that supports fewer filters", () => {
  test.each<[tool: string, args: Args, fault: string]>([
    ["list_links", { filters: ownFilter }, "filters on url"],
    ["list_links", { search: "spring" }, "search"],
    ["list_links", { filters: ownFilter, search: "spring" }, "filters on url and search"],
    ["plan_links", { operation: "delete", filters: ownFilter }, "filters on url"],
    ["plan_links", { operation: "delete", search: "spring" }, "search"],
    ["export_links", { filters: ownFilter }, "filters on url"],
    ["export_links", { search: "spring" }, "search"],
    ["audit_links", { filters: ownFilter }, "filters on url"],
  ])(
    "an unsupported filter causes an error that names the supported fields: %s %j",
    async (...given) => {
      const [tool, args, fault] = given;
      ignoreOwn(strange);
      const refused = await callRefused(strange, tool, args);
      expect(refused).toMatchObject({ code: "validation_failed", effect: "none", retry: "now" });
      expect(refused.message).toContain(
        `This server does not support ${fault}. It filters links by`,
      );
      expect(refused.message).toContain("name, path, shortened_path, clicks, created_at");
    },
  );

  test("links can still be found with every filter of the specification", async () => {
    ignoreOwn(strange);
    const filters = [{ field: "path", condition: "start", value: "news" }];
    expect((await callDone(strange, "list_links", { filters })).links).toHaveLength(16);
    const { plan } = await callDone(strange, "plan_links", { operation: "delete", filters });
    expect(plan.counts.delete).toBe(16);
  });

  test("a call fails if the server falsely claims to have applied a filter", async () => {
    ignoreOwn(strange);
    strange.proxy.setAlter((_, reply) =>
      withBody(reply, (body: { meta?: object }) =>
        body.meta ? { ...body, meta: { ...body.meta, applied: ["url_start"] } } : body,
      ),
    );
    for (const tool of ["plan_links", "export_links"]) {
      const wanted = { filters: ownFilter, ...(tool === "plan_links" && { operation: "delete" }) };
      const refused = await callRefused(strange, tool, wanted);
      expect(refused).toMatchObject({ code: "bad_response", effect: "none", retry: "never" });
    }
  });

  test("the server's own error message for an unsupported filter is returned", async () => {
    strange.proxy.setAlter(({ path }, reply) =>
      path.includes("f%5B")
        ? { ...reply, status: 400, body: '{"error":"Unpermitted parameter: f"}' }
        : reply,
    );
    const refused = await callRefused(strange, "list_links", { filters: ownFilter });
    expect(refused).toMatchObject({ code: "bad_request", effect: "none" });
    expect(refused.message).toContain("Unpermitted parameter: f");
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

test("list_links rejects invalid arguments without sending a request", async () => {
  const before = listAsked().length;
  for (const [args, message] of [
    [{ search: " " }, "must not be empty"],
    [
      { filters: [{ field: "created_via", condition: "eq", value: "mail" }] },
      "must be api or console",
    ],
    [{ filters: [{ field: "url", condition: "empty", value: "yes" }] }, "true or false"],
  ] as const) {
    const refused = await callRefused(strange, "list_links", args);
    expect(refused.code).toBe("invalid_arguments");
    expect(JSON.stringify(refused)).toContain(message);
  }
  expect(listAsked()).toHaveLength(before);
});
