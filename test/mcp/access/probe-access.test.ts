import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { messages } from "../../../src/contract/messages.ts";
import type { Role, Scope } from "../../../src/contract/rights.ts";
import {
  explainAccess,
  openStage,
  ringAtOnce,
  type Handler,
  type Stage,
  type Staging,
} from "../../support/stage.ts";
import { openForEach } from "../../support/open-for.ts";
import { createWorld, type World } from "../../support/world.ts";

/** Tests the requests that probe the permissions of a remote key. None of them changes anything. */

let world: World;

openForEach(createWorld, (opened) => (world = opened));

const uuid = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const listRequests = ({ asked }: Stage) => asked.map((line) => line.replace(uuid, ":id"));

const appProbes = ["ios_app", "android_app"].flatMap((kind) => [
  `GET /${kind}s?limit=1`,
  `GET /${kind}s/:id`,
  `PATCH /${kind}s/:id {"${kind}":{}}`,
]);
const eras = ["v1", "modern"] as const;
const templateProbes = ["GET /page_template/versions", "GET /page_template/versions/:id"];
const linkProbes = [
  "GET /links?limit=1",
  "GET /links/:id",
  "PATCH /links/:id {}",
  "GET /link_stats",
];
const masterProbes = [
  "GET /projects?limit=1",
  "GET /projects/:id",
  'PATCH /projects/:id {"project":{}}',
];
/** All probes. They are sent at the same time. */
const allProbes = [...masterProbes, ...linkProbes, ...appProbes, ...templateProbes];

describe("permission probing", () => {
  test.each(eras)(
    "is skipped for every request of a %s client if probing is turned off",
    async (era) => {
      const key = await world.addKey({ scopes: ["links.show"] });
      await using stage = await openStage({ send: world.fetch, key, probe: "off", era });
      expect(await stage.listNames()).toHaveLength(42);
      await stage.client.listPrompts();
      await stage.client.listResources();
      await stage.client.listResourceTemplates();
      await stage.client.readResource({ uri: "ui://waypost/page-template" });
      await stage.client.getPrompt({ name: "audit_links" });
      await stage.callTool("explain_access");
      await stage.settle();
      expect(stage.asked).toEqual([]);
      await stage.callTool("list_links");
      await stage.settle();
      expect(stage.asked).toEqual(["GET /links"]);
      expect(await stage.listNames()).not.toContain("list_links");
    },
  );

  test("is skipped if no key is configured, even if an unknown tool is called", async () => {
    await using stage = await openStage({ send: world.fetch, key: undefined });
    await stage.callTool("explain_access");
    await stage.callTool("list_links");
    await expect(stage.callTool("no_tool")).rejects.toThrow();
    await stage.callTool("resolve_short_link", { url: "https://a.example" });
    await stage.settle();
    expect(stage.asked).toEqual(['POST /short_links/resolve {"url":"https://a.example"}']);
  });
});

describe("permission probes", () => {
  test.each(eras)("are sent when a %s client sends its first request", async (era) => {
    await using stage = await openStage({ send: world.fetch, key: world.key, era });
    if (era === "modern") await stage.client.ping().catch(() => undefined);
    await stage.client.listPrompts();
    await stage.settle();
    expect(new Set(listRequests(stage))).toEqual(new Set(allProbes));
  });

  test("are sent only once, and do not change the database", async () => {
    await world.call("POST", "/links", { body: { path: "spring" } });
    const readStore = () =>
      Promise.all([world.file, `${world.file}-wal`].map(async (path) => readFile(path, "hex")));
    const before = await readStore();
    await using stage = await openStage({ send: world.fetch, key: world.key });
    const names = await stage.listNames();
    expect(listRequests(stage).toSorted()).toEqual(allProbes.toSorted());
    await stage.callTool("list_links", { limit: 6 });
    await stage.callTool("explain_access");
    expect(await stage.listNames()).toEqual(names);
    await stage.settle();
    expect(listRequests(stage).toSorted()).toEqual([...allProbes, "GET /links?limit=6"].toSorted());
    expect(await readStore()).toEqual(before);
  });

  test("use the same random UUID in every request", async () => {
    await using stage = await openStage({ send: world.fetch, key: world.key });
    await stage.listTools();
    const ids = new Set(stage.asked.flatMap((line) => uuid.exec(line)?.[0] ?? []));
    expect(ids.size).toBe(1);
    for (const id of ids) expect(id).toMatch(/^[a-f][0-9a-f]{7}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab]/);
  });

  test.each<readonly [Scope[], Role, string[]]>([
    [
      ["links.index", "links.show"],
      "owner",
      ["audit_links", "list_links", "get_link", "export_links", "link_stats"],
    ],
    [["links.destroy"], "owner", []],
    [["ios_apps.create"], "viewer", []],
    [["ios_apps.create", "ios_apps.show"], "viewer", ["get_ios_app"]],
    [["android_apps.update"], "manager", ["update_android_app"]],
  ])(
    "detect the tools that a key with the scopes %j and the role %s can use",
    async (scopes, role, granted) => {
      const key = await world.addKey({ scopes, role });
      await using stage = await openStage({ send: world.fetch, key });
      const { denied, granted: found, kind } = await explainAccess(stage);
      expect(listRequests(stage).toSorted()).toEqual(allProbes.toSorted());
      expect(found).toEqual(expect.arrayContaining(granted));
      expect(kind).toBe("project");
      const looks = ["explain_access", "explain_link", "check_domain"];
      const open = [...looks, "resolve_short_link", "list_changes", "undo"];
      expect(found.filter((tool) => ![...open, ...granted].includes(tool))).toEqual([]);
      expect(denied).toEqual(expect.arrayContaining(["list_projects", "delete_project"]));
    },
  );

  test.each<readonly [string, Partial<Staging>, readonly string[]]>([
    ["read-only mode sends only GET requests", { mode: "read-only" }, []],
    [
      "WAYPOST_TOOLS limits the probes to the selected tools",
      { selection: ["links", "-update_link"] },
      [...appProbes, ...templateProbes, "PATCH /links/:id {}"],
    ],
  ])("follow the operator's settings: %s", async (_, staging, never) => {
    await using stage = await openStage({ send: world.fetch, key: world.key, ...staging });
    await explainAccess(stage);
    const asked = listRequests(stage);
    expect(asked).toContain("GET /links?limit=1");
    expect(asked.filter((line) => never.includes(line))).toEqual([]);
    if (never.length === 0) expect(asked.every((line) => line.startsWith("GET"))).toBe(true);
  });

  test("hide the tools for links and apps if the key is a master key", async () => {
    await using stage = await openStage({ send: world.fetch, key: world.master });
    const { granted, unknown, kind } = await explainAccess(stage);
    expect(kind).toBe("master");
    expect(granted).toEqual([
      "resolve_short_link",
      "list_projects",
      "get_project",
      "update_project",
      "list_changes",
      "undo",
      "check_domain",
      "explain_access",
    ]);
    expect(unknown).toEqual(["create_project", "delete_project"]);
    expect(await stage.listNames()).toHaveLength(10);
    expect(listRequests(stage).toSorted()).toEqual(allProbes.toSorted());
  });

  test.each<readonly [string, Partial<Staging>]>([
    ["with the default settings", {}],
    ["if WAYPOST_TOOLS leaves out the project tools", { selection: ["links"] }],
    ["if WAYPOST_SCOPES declares scopes", { scopes: ["links.index", "links.create"] }],
  ])("hide the tools that need a key until the key becomes valid, %s", async (_, staging) => {
    let isValid = false;
    let time = 0;
    await using stage = await openStage({
      ...staging,
      send: (request) => {
        if (isValid) return world.fetch(request);
        return Promise.resolve(Response.json({ error: messages.key_invalid }, { status: 401 }));
      },
      key: world.key,
      clock: { now: () => time, monotonic: () => time },
    });
    const names = await stage.listNames();
    expect(names.filter((name) => !/^(explain_access|resolve_short_link)$/.test(name))).toEqual([]);
    expect(listRequests(stage)).toContain("GET /links?limit=1");
    const { structured } = await stage.callTool("create_link", { path: "spring" });
    expect(structured.error).toMatchObject({ code: "key_invalid", status: 401, effect: "none" });
    expect(listRequests(stage).filter((asked) => asked.startsWith("POST"))).toEqual([]);
    isValid = true;
    time += 60_000;
    await explainAccess(stage);
    expect(await stage.listNames()).toContain("create_link");
  });
});

describe("a tool call", () => {
  test("is answered before the remote server has answered the probes", async () => {
    const stalled: (() => void)[] = [];
    const stalling: Handler = (request) => {
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
    expect(listRequests(stage)).toContain("GET /links?limit=7");
    expect(stalled).toHaveLength(allProbes.length);
    for (const release of stalled) release();
  });

  test("retries the probes that failed at least a minute ago", async () => {
    let isDown = true;
    let now = Date.now();
    const clock = { now: () => now, monotonic: () => now };
    const down: Handler = (request) => {
      if (isDown && !request.url.endsWith("limit=7")) return new Promise(() => {});
      return world.fetch(request);
    };
    const given = { send: down, key: world.key, setAlarm: ringAtOnce, clock };
    await using stage = await openStage(given);
    await stage.callTool("list_links", { limit: 7 });
    await stage.settle();
    expect(await stage.listNames()).toContain("get_ios_app");
    const before = stage.asked.length;
    isDown = false;
    now += 59_999;
    await stage.callTool("list_links", { limit: 7 });
    await stage.callTool("explain_access");
    await stage.settle();
    expect(listRequests(stage).slice(before)).toEqual(["GET /links?limit=7"]);
    now += 1;
    await stage.callTool("list_links", { limit: 7 });
    await stage.settle();
    expect(listRequests(stage).slice(before)).toEqual(expect.arrayContaining(appProbes));
  });
});
