import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { messages } from "../../../src/contract/messages.ts";
import type { Role, Scope } from "../../../src/contract/scopes-and-roles.ts";
import { openForEach } from "../../support/open-for.ts";
import {
  answering,
  openStage,
  ringAtOnce,
  type Deployment,
  type Stage,
  type Staging,
} from "../../support/stage.ts";
import { createWorld, type World } from "../../support/world.ts";

/** What is found out of a remote key, by which requests, and that none of them changes anything. */

let world: World;

openForEach(createWorld, (opened) => (world = opened));

const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const readAsked = ({ asked }: Stage) => asked.map((line) => line.replace(uuid, ":id"));

const appProbes = ["ios_apps", "android_apps"].flatMap((kind) => [
  `GET /${kind}?limit=1`,
  `GET /${kind}/:id`,
  `POST /${kind} {}`,
  `PATCH /${kind}/:id {}`,
]);
const templateProbes = ["GET /page_template/versions", "GET /page_template/versions/:id"];
/** All that may ever be asked of a deployment to find out what a key may do. */
const allowed = [
  "GET /projects?limit=1",
  "GET /projects/:id",
  "GET /links?limit=1",
  "GET /links/:id",
  ...appProbes,
  ...templateProbes,
];

async function explain(stage: Stage) {
  const { structured } = await stage.callTool("explain_access");
  const { kind, tools } = structured.access;
  const list = (wanted: string): readonly string[] =>
    tools.flatMap(({ tool, state }: { tool: string; state: string }) =>
      state === wanted ? [tool] : [],
    );
  return {
    kind,
    tools,
    granted: list("granted"),
    denied: list("denied"),
    unknown: list("unknown"),
  };
}

describe("nothing is asked", () => {
  test("before the first call of a tool, whatever else a client does", async () => {
    await using stage = await openStage({ send: world.fetch, key: world.key });
    await stage.listTools();
    await stage.client.listPrompts();
    await stage.client.listResources();
    await stage.client.listResourceTemplates();
    await stage.client.readResource({ uri: "waypost://access" });
    await stage.client.readResource({ uri: "waypost://limits" });
    await stage.client.getPrompt({ name: "audit_links" });
    expect(stage.asked).toEqual([]);
  });

  test("without a key, and by no call of a tool that is not there", async () => {
    await using stage = await openStage({ send: world.fetch, key: undefined });
    await stage.callTool("explain_access");
    await stage.callTool("list_links");
    await expect(stage.callTool("no_tool")).rejects.toThrow();
    await stage.callTool("resolve_short_link", { url: "https://a.example" });
    await stage.settle();
    expect(stage.asked).toEqual(['POST /short_links/resolve {"url":"https://a.example"}']);
  });
});

describe("what is asked", () => {
  test("of a full key is just this, once, and the store is the same byte for byte", async () => {
    await world.call("POST", "/links", { body: { path: "spring" } });
    const readStore = () =>
      Promise.all([world.file, `${world.file}-wal`].map(async (path) => readFile(path, "hex")));
    const before = await readStore();
    await using stage = await openStage({ send: world.fetch, key: world.key });
    await stage.callTool("list_links", { limit: 5 });
    await stage.settle();
    const [first, ...probes] = readAsked(stage);
    expect(first).toBe("GET /links?limit=5");
    // The first call itself may be answered before this one is asked.
    expect(new Set([...probes, "GET /links?limit=1"])).toEqual(
      new Set(allowed.filter((line) => line !== "GET /projects/:id")),
    );
    expect(new Set(probes).size).toBe(probes.length);
    await stage.callTool("list_links", { limit: 6 });
    await stage.callTool("explain_access");
    await stage.settle();
    expect(readAsked(stage)).toEqual([first, ...probes, "GET /links?limit=6"]);
    expect(await readStore()).toEqual(before);
  });

  test.each<readonly [Scope[], Role, string[]]>([
    [["links.index", "links.show"], "owner", ["list_links", "get_link", "export_links"]],
    [["links.destroy"], "owner", []],
    [["ios_apps.create"], "viewer", []],
    [["ios_apps.create", "ios_apps.show"], "viewer", ["get_ios_app"]],
    [["android_apps.update"], "manager", ["update_android_app"]],
  ])("of a key with %j as %s is never more than is allowed", async (scopes, role, granted) => {
    const key = await world.addKey({ scopes, role });
    await using stage = await openStage({ send: world.fetch, key });
    const { denied, granted: found, kind } = await explain(stage);
    expect(readAsked(stage).filter((line) => !allowed.includes(line))).toEqual([]);
    expect(new Set(readAsked(stage)).size).toBe(stage.asked.length);
    expect(found).toEqual(expect.arrayContaining(granted));
    expect(kind).toBe("project");
    const open = ["explain_access", "explain_link", "resolve_short_link", "list_changes", "undo"];
    expect(found.filter((tool) => ![...open, ...granted].includes(tool))).toEqual([]);
    expect(denied).toEqual(expect.arrayContaining(["list_projects", "delete_project"]));
  });

  test.each<readonly [string, Partial<Staging>, readonly string[]]>([
    ["in read-only mode reads and nothing else", { mode: "read-only" }, []],
    [
      "is about the tools that the operator left in",
      { selection: ["links"] },
      [...appProbes, ...templateProbes],
    ],
  ])("%s", async (_, staging, never) => {
    await using stage = await openStage({ send: world.fetch, key: world.key, ...staging });
    await explain(stage);
    const asked = readAsked(stage);
    expect(asked).toContain("GET /links?limit=1");
    expect(asked.filter((line) => never.includes(line))).toEqual([]);
    if (never.length === 0) expect(asked.every((line) => line.startsWith("GET"))).toBe(true);
  });

  test("of a master key leaves the projects' tools", async () => {
    await using stage = await openStage({ send: world.fetch, key: world.master });
    const { granted, unknown, kind } = await explain(stage);
    expect(kind).toBe("master");
    expect(granted).toEqual([
      "resolve_short_link",
      "list_projects",
      "get_project",
      "explain_access",
    ]);
    const history = ["list_changes", "undo"];
    expect(unknown).toEqual(["create_project", "update_project", "delete_project", ...history]);
    expect(await stage.listNames()).toHaveLength(9);
    expect(readAsked(stage)).toEqual(["GET /projects?limit=1", "GET /projects/:id"]);
  });

  test("of a key that is none, or whose account is suspended, tells why", async () => {
    for (const [key, reason] of [
      ["nonsense", messages.key_invalid],
      [
        await world.addKey({ project: await world.addProject({ suspended: true }) }),
        messages.account_suspended,
      ],
    ] as const) {
      await using stage = await openStage({ send: world.fetch, key });
      const { tools } = await explain(stage);
      expect(tools).toContainEqual({ tool: "list_links", state: "unknown", reason });
      expect(await stage.listNames()).toHaveLength(40);
    }
  });
});

describe("a call is not held up by what is found out beside it", () => {
  test("by a deployment that never answers that", async () => {
    const stalled: (() => void)[] = [];
    const stalling: Deployment = (request) => {
      const isProbe = !request.url.endsWith("limit=7");
      if (!isProbe) return world.fetch(request);
      return new Promise((resolve) => {
        stalled.push(() => resolve(Response.json({ error: "late" }, { status: 400 })));
      });
    };
    await using stage = await openStage({ send: stalling, key: world.key });
    for (const _ of [1, 2, 3]) {
      expect((await stage.callTool("list_links", { limit: 7 })).isError).toBe(false);
    }
    expect(readAsked(stage)[0]).toBe("GET /links?limit=7");
    expect(stalled).toHaveLength(1);
    for (const release of stalled) release();
  });

  test("and what could not be found out is asked again beside the next one", async () => {
    let isDown = true;
    const down: Deployment = (request) => {
      if (isDown && !request.url.endsWith("limit=7")) return new Promise(() => {});
      return world.fetch(request);
    };
    await using stage = await openStage({ send: down, key: world.key, setTimer: ringAtOnce });
    await stage.callTool("list_links", { limit: 7 });
    await stage.settle();
    expect(await stage.listNames()).toContain("get_ios_app");
    const before = stage.asked.length;
    isDown = false;
    await stage.callTool("list_links", { limit: 7 });
    await stage.settle();
    expect(readAsked(stage).slice(before)).toEqual(expect.arrayContaining(appProbes));
  });
});

/** The world, but for what is said to one kind of request. */
function unlike(pattern: RegExp, answer: Deployment): Deployment {
  return (request) => {
    const { pathname } = new URL(request.url);
    const isMeant = pattern.test(`${request.method} ${pathname}`);
    return isMeant ? answer(request) : world.fetch(request);
  };
}

describe("a deployment of another make", () => {
  test.each([
    ["a page of HTML", async () => new Response("<h1>No</h1>", { status: 404 })],
    ["a 404 in JSON", answering(404, { error: "Not found" })],
    ["a 500", answering(500, { error: "Oops" })],
    ["a 400", answering(400, { error: "Bad" })],
    ["another 401", answering(401, { error: "Not permitted to do so." })],
  ])("that has %s where projects would be still has its links and apps", async (_, answer) => {
    const send = unlike(/\/projects/, answer);
    await using stage = await openStage({ send, key: world.key });
    const { granted, kind } = await explain(stage);
    expect(kind).toBe("project");
    expect(granted).toEqual(expect.arrayContaining(["list_links", "register_ios_app"]));
    const names = await stage.listNames();
    expect(names).toHaveLength(35);
    expect(names).not.toContain("list_projects");
  });

  test("that finds fault with an app that is not there lets its key register one", async () => {
    const send = unlike(/POST .*\/ios_apps/, answering(422, { error: "Bundle can't be blank" }));
    await using stage = await openStage({ send, key: world.key });
    expect((await explain(stage)).granted).toContain("register_ios_app");
  });

  test("whose words are its own is understood", async () => {
    const key = await world.addKey({ scopes: ["links.show", "ios_apps.show"], role: "viewer" });
    const reworded: Deployment = async (request) => {
      const response = await world.fetch(request);
      if (response.status !== 401) return response;
      const { error } = JSON.parse(await response.text());
      const isScope = error.includes("scope");
      const own = isScope ? "Insufficient scope" : "This key is not allowed to see projects";
      return Response.json({ error: own }, { status: 401 });
    };
    await using stage = await openStage({ send: reworded, key });
    const { granted, denied, kind } = await explain(stage);
    expect(kind).toBe("project");
    expect(granted).toEqual(expect.arrayContaining(["get_link", "get_ios_app"]));
    expect(denied).toEqual(
      expect.arrayContaining(["list_links", "list_ios_apps", "update_android_app", "get_project"]),
    );
  });
});
