import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/contract/endpoint.ts";
import { listToolEndpoints } from "../../../src/contract/index.ts";
import { messages } from "../../../src/contract/messages.ts";
import { roles, scopes, type Scope } from "../../../src/contract/rights.ts";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";
import { openForAll } from "../../support/open-for.ts";
import {
  openStage,
  ownerFacts,
  type Stage,
  explainAccess,
  readAccess,
} from "../../support/stage.ts";
import type { Reply } from "../../support/world.ts";

/** Tests what is known about a key before any call, from our own service or from the operator. */

let assistant: AssistantWorld;

openForAll(createAssistantWorld, (opened) => (assistant = opened));

async function listNames(key: string | undefined): Promise<readonly string[]> {
  const client = await assistant.connect({ key });
  return (await client.listTools()).map(({ name }) => name);
}

async function explain(key: string | undefined) {
  const client = await assistant.connect({ key });
  const { structured } = await client.callTool("explain_access");
  return readAccess(structured.access);
}

/** Sends the simplest request that shows whether the key may call an endpoint. */
function askApi({ method, path, body, wrapper }: Endpoint, key: string): Promise<Reply> {
  const fields = { url: "https://a.example", path: `path-${randomUUID()}` };
  const given = wrapper === undefined ? fields : { [wrapper]: {} };
  const address = path.replace(":id", randomUUID());
  return assistant.world.call(method, address, { key, ...(body && { body: given }) });
}

const readingTools = [
  "list_links",
  "get_link",
  "resolve_short_link",
  "export_links",
  "audit_links",
  "link_stats",
  "explain_link",
  "check_domain",
  "explain_access",
];

const writing = ["create_link", "update_link", "delete_link"];

/** The bulk tools. Each needs the permission for at least one tool from each of its lists. */
const bulk: readonly (readonly [tool: string, needed: readonly (readonly string[])[]])[] = [
  ["plan_links", [["list_links"], writing]],
  ["apply_plan", [["list_links"], writing]],
  ["get_job", [["list_links"], writing]],
  ["list_jobs", [["list_links"], writing]],
  ["cancel_job", [["list_links"], writing]],
  ["export_links", [["list_links"]]],
];

const wanted = fc.record({
  scopes: fc.oneof(fc.constant([]), fc.subarray([...scopes])),
  role: fc.constantFrom(...roles),
  plan: fc.constantFrom("free", "pro"),
  suspended: fc.integer({ min: 0, max: 9 }).map((number) => number === 0),
});

test("the tool list contains exactly the tools that the key may use", async () => {
  const { world } = assistant;
  await fc.assert(
    fc.asyncProperty(wanted, async ({ scopes, role, plan, suspended }) => {
      const project = await world.addProject({ plan: plan as "free", suspended });
      const key = await world.addKey({ project, scopes, role });
      const shown = new Set(await listNames(key));
      const { kind, tools } = await explain(key);
      expect(kind).toBe("project");
      const denied = new Map<string, string>();
      for (const endpoint of listToolEndpoints()) {
        const { status, body } = await askApi(endpoint, key);
        const isDenied = status === 401;
        if (isDenied) denied.set(endpoint.tool, body.error);
        expect([endpoint.tool, shown.has(endpoint.tool)]).toEqual([endpoint.tool, !isDenied]);
        expect(tools).toContainEqual({
          tool: endpoint.tool,
          state: isDenied ? "denied" : "granted",
          ...(isDenied && { reason: body.error }),
        });
      }
      for (const [tool, needed] of bulk) {
        // The reason is the rejection of the first tool in the list.
        const reason = needed.map((any) => any.map((name) => denied.get(name)));
        const lacking = reason.find((any) => any.every((said) => said !== undefined))?.[0];
        expect([tool, shown.has(tool)]).toEqual([tool, lacking === undefined]);
        expect(tools).toContainEqual({
          tool,
          state: lacking === undefined ? "granted" : "denied",
          ...(lacking !== undefined && { reason: lacking }),
        });
      }
    }),
    { numRuns: 30 },
  );
});

describe("the tool list", () => {
  test("contains the tools for projects if the key is a master key", async () => {
    expect(await listNames(assistant.world.master)).toEqual([
      "resolve_short_link",
      "list_projects",
      "create_project",
      "get_project",
      "update_project",
      "delete_project",
      "list_changes",
      "undo",
      "check_domain",
      "explain_access",
    ]);
    expect((await explain(assistant.world.master)).kind).toBe("master");
  });

  test("contains only the tools that need no key if no key is configured", async () => {
    expect(await listNames(undefined)).toEqual(["resolve_short_link", "explain_access"]);
    const { kind, tools } = await explain(undefined);
    expect(kind).toBe("none");
    const reason = messages.key_missing;
    expect(tools).toContainEqual({ tool: "list_links", state: "denied", reason });
    const client = await assistant.connect({ key: undefined });
    const { structured } = await client.callTool("list_links");
    expect(structured.error).toMatchObject({ code: "key_missing", effect: "none" });
    const resolved = await client.callTool("resolve_short_link", { url: "https://a.example/b" });
    expect(resolved.structured.error.code).toBe("not_found");
  });

  test("becomes shorter when the project is downgraded or suspended", async () => {
    const { world } = assistant;
    const project = await world.addProject();
    const client = await assistant.connect({ key: await world.addKey({ project }) });
    const count = async () => (await client.listTools()).length;
    expect(await count()).toBe(38);
    await world.store.write((db) =>
      db.updateTable("projects").set({ plan: "free" }).where("id", "=", project.id).execute(),
    );
    expect(await count()).toBe(30);
    await world.store.write((db) =>
      db.updateTable("projects").set({ suspended: 1 }).where("id", "=", project.id).execute(),
    );
    expect(await count()).toBe(2);
    const { structured } = await client.callTool("list_links");
    expect(structured.error.code).toBe("account_suspended");
  });
});

test("a call to a denied tool returns the API's error without sending a request", async () => {
  const scopes = ["links.show"] as const;
  await using stage = await openStage({
    send: assistant.world.fetch,
    key: await assistant.world.addKey({ scopes }),
    known: { facts: { ...ownerFacts, scopes } },
  });
  const { structured } = await stage.callTool("delete_link", { id: "spring" });
  expect(structured.error).toMatchObject({
    code: "scope_missing",
    message: messages.scope_missing("links.destroy"),
    effect: "none",
    retry: "never",
  });
  expect(stage.asked).toEqual([]);
});

function declare(declared: readonly Scope[], key = assistant.world.key): Promise<Stage> {
  return openStage({ send: assistant.world.fetch, key, scopes: declared });
}

describe("scopes declared by the operator", () => {
  test("replace all probes except the probes for the key's validity and link_stats", async () => {
    await using stage = await declare(["links.index", "links.show"]);
    expect(await stage.listNames()).toEqual(readingTools);
    const access = await explainAccess(stage);
    expect(access.tools).toContainEqual({ tool: "list_links", state: "granted" });
    expect(access.tools).toContainEqual({
      tool: "create_link",
      state: "denied",
      reason: "The operator's WAYPOST_SCOPES excludes links.create.",
    });
    expect(access.tools).toContainEqual({
      tool: "list_projects",
      state: "denied",
      reason: messages.master_required,
    });
    const { structured } = await stage.callTool("create_link", {});
    expect(structured.error).toEqual({
      code: "scope_missing",
      message: "The operator's WAYPOST_SCOPES excludes links.create.",
      effect: "none",
      retry: "never",
      next: expect.stringMatching(/WAYPOST_SCOPES excludes this scope\. Do not try again\.$/),
    });
    await stage.callTool("list_links");
    await stage.settle();
    expect(stage.asked).toEqual(["GET /links?limit=1", "GET /link_stats", "GET /links"]);
  });

  test("do not override a rejection by the remote server", async () => {
    const key = await assistant.world.addKey({ scopes: ["links.show"] });
    await using stage = await declare(["links.index", "links.show"], key);
    await stage.callTool("list_links");
    expect(await stage.listNames()).not.toContain("list_links");
  });

  test("can restrict a key of the embedded service, but never add permissions", async () => {
    const facts = { ...ownerFacts, scopes: ["links.show"] } as const;
    await using stage = await openStage({
      send: assistant.world.fetch,
      scopes: ["links.show", "links.index"],
      known: { facts },
    });
    expect(await stage.listNames()).not.toContain("list_links");
    // If both exclude a scope, the reason names the operator's setting.
    const { structured } = await stage.callTool("create_link", {});
    expect(structured.error).toMatchObject({
      code: "scope_missing",
      message: "The operator's WAYPOST_SCOPES excludes links.create.",
    });
    expect(structured.error).not.toHaveProperty("status");
  });
});
