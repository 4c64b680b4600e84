import { describe, expect, test } from "vitest";
import { messages } from "../../../src/contract/messages.ts";
import { quoteAnswer } from "../../../src/contract/server-answer.ts";
import { openForEach } from "../../support/open-for.ts";
import { openStage, type Handler, type Stage, explainAccess } from "../../support/stage.ts";
import { createTestClock } from "../../support/clock.ts";
import { createWorld, type World } from "../../support/world.ts";

/** Tests which rejections remove a tool from the list. */

let world: World;

openForEach(createWorld, (opened) => (world = opened));

/** Matches any time, because the tests use the real clock. */
const since: unknown = expect.any(String);
const id = "00000000-0000-4000-8000-000000000000";

const quote = (message: string) => quoteAnswer("deployment.example", message);

/** Simulates a server that rejects matching calls with this error, and others without a reason. */
function saying(pattern: RegExp, error: string): Handler {
  return ({ method, url }) => {
    const isMeant = pattern.test(`${method} ${new URL(url).pathname}`);
    const body = { error: isMeant ? error : "No." };
    return Promise.resolve(Response.json(body, { status: 401 }));
  };
}

async function readState(stage: Stage, tool: string) {
  const { tools } = await explainAccess(stage);
  return tools.find((reading) => reading.tool === tool);
}

type Line = readonly [error: string, tool: string, args: Record<string, unknown>, pattern: RegExp];

describe("an error that applies to every call of a tool", () => {
  test.each<Line>([
    [messages.scope_missing("links.destroy"), "delete_link", { id }, /^DELETE/],
    ["Insufficient scope", "create_link", {}, /^POST .*links$/],
    [messages.role_required("viewer"), "list_android_apps", {}, /^GET .*android/],
    [messages.plan_required, "shorten_link", { url: "https://a.example" }, /short_links/],
    [messages.scope_missing("links.index"), "export_links", {}, /^GET .*links$/],
  ])('removes the tool from the tool list: "%s" for %s', async (error, tool, args, pattern) => {
    await using stage = await openStage({ probe: "off", send: saying(pattern, error) });
    expect(await stage.listNames()).toContain(tool);
    const { structured } = await stage.callTool(tool, args);
    expect(structured.error.message).toBe(quote(error));
    await stage.settle();
    expect(await stage.listNames()).not.toContain(tool);
    expect(stage.countChanges()).toBeGreaterThan(0);
    expect(await readState(stage, tool)).toEqual({
      tool,
      state: "denied",
      reason: quote(error),
      since,
    });
    const before = stage.asked.length;
    const again = await stage.callTool(tool, args);
    expect(again.structured.error).toMatchObject({ message: quote(error), effect: "none" });
    expect(stage.asked).toHaveLength(before);
  });
});

test("a tool hidden after a rejection is listed again if the clock is set back", async () => {
  const clock = createTestClock();
  const send = saying(/^DELETE/, messages.scope_missing("links.destroy"));
  await using stage = await openStage({ probe: "off", send, clock });
  await stage.callTool("delete_link", { id });
  expect(await stage.listNames()).not.toContain("delete_link");
  clock.setClock(-1);
  expect(await stage.listNames()).toContain("delete_link");
});

test("if export_links fails for lack of a scope, tools that list links are hidden", async () => {
  const error = messages.scope_missing("links.index");
  let isRevoked = false;
  const send: Handler = (request) => {
    const isList = request.method === "GET" && new URL(request.url).pathname.endsWith("/links");
    if (!isRevoked || !isList) return world.fetch(request);
    return Promise.resolve(Response.json({ error }, { status: 401 }));
  };
  await using stage = await openStage({ send, key: world.key });
  expect(await readState(stage, "export_links")).toMatchObject({ state: "granted" });
  await stage.settle();
  isRevoked = true;
  const { structured } = await stage.callTool("export_links");
  expect(structured.error).toMatchObject({ code: "scope_missing", effect: "none" });
  const names = await stage.listNames();
  for (const tool of ["export_links", "plan_links", "list_links"]) {
    expect(names).not.toContain(tool);
    expect(await readState(stage, tool)).toEqual({
      tool,
      state: "denied",
      reason: quote(error),
      since,
    });
  }
});

describe("an error that applies to a single call", () => {
  test.each<Line>([
    [messages.pro_fields("referrer"), "create_link", { referrer: "a" }, /^POST .*links$/],
    [messages.link_limit(10), "create_link", {}, /^POST .*links$/],
    [messages.scope_missing("ios_apps.create"), "create_link", { ios_app: {} }, /^POST .*links$/],
    [messages.scope_missing("links.update"), "upsert_link", { path: "a" }, /upsert/],
    [messages.key_invalid, "list_links", {}, /^GET .*links$/],
    ["No.", "list_links", {}, /^GET .*links$/],
  ])(
    'does not remove the tool from the tool list: "%s" for %s',
    async (error, tool, args, pattern) => {
      await using stage = await openStage({ probe: "off", send: saying(pattern, error) });
      const { structured } = await stage.callTool(tool, args);
      expect(structured.error.message).toBe(quote(error));
      await stage.settle();
      expect(await stage.listNames()).toContain(tool);
      expect(await readState(stage, tool)).toEqual({
        tool,
        state: "unknown",
        reason: quote(error),
        since,
      });
    },
  );

  test("leaves the tool's state as granted if an earlier call succeeded", async () => {
    const project = await world.addProject({ plan: "free" });
    await using stage = await openStage({
      probe: "off",
      send: world.fetch,
      key: await world.addKey({ project }),
    });
    expect((await stage.callTool("create_link", { path: "spring" })).isError).toBe(false);
    const { structured } = await stage.callTool("create_link", { referrer: "a" });
    expect(structured.error.code).toBe("plan_required");
    expect(await readState(stage, "create_link")).toEqual({
      tool: "create_link",
      state: "granted",
    });
    expect((await stage.callTool("create_link", { path: "summer" })).isError).toBe(false);
  });

  test("does not hide upsert_link if the key may create links but not update them", async () => {
    await world.call("POST", "/links", { body: { path: "spring" } });
    const key = await world.addKey({ scopes: ["links.create"] });
    await using stage = await openStage({ probe: "off", send: world.fetch, key });
    const { structured } = await stage.callTool("upsert_link", { path: "spring" });
    expect(structured.error).toMatchObject({
      code: "scope_missing",
      message: quote(messages.scope_missing("links.update")),
      next: expect.stringContaining("the scope links.update;"),
    });
    await stage.settle();
    expect((await stage.callTool("upsert_link", { path: "summer" })).isError).toBe(false);
  });
});

/** Simulates a remote server that accepts one key both for projects and for links. */
function openBoth(request: Request): Promise<Response> {
  const key = new URL(request.url).pathname.includes("/projects") ? world.master : world.key;
  const headers = { authorization: `Token ${key}`, "content-type": "application/json" };
  return world.fetch(new Request(request, { headers }));
}

describe("the tool list", () => {
  test("omits the project tools once a call shows that the key belongs to a project", async () => {
    await using stage = await openStage({ probe: "off", send: world.fetch, key: world.key });
    await stage.callTool("list_links");
    expect(await stage.listNames()).not.toContain("create_project");
  });

  test("still contains the link tools if list_projects fails for lack of a scope", async () => {
    const send = saying(/^GET .*projects$/, messages.scope_missing("projects.index"));
    await using stage = await openStage({ probe: "off", send });
    await stage.callTool("list_projects");
    await stage.settle();
    const { structured } = await stage.callTool("explain_access");
    expect(structured.access.kind).toBe("project");
    expect(await stage.listNames()).toContain("list_links");
  });

  test("contains the tools for links and for projects if the key works for both", async () => {
    await using stage = await openStage({ probe: "off", send: openBoth });
    await stage.callTool("list_projects");
    await stage.settle();
    const { structured } = await stage.callTool("explain_access");
    expect(structured.access.kind).toBe("master");
    expect(await stage.listNames()).toContain("delete_project");
  });
});
