import { readFile } from "node:fs/promises";
import { beforeEach, describe, expect, test } from "vitest";
import { messages } from "../../../src/contract/messages.ts";
import { createGate, createTestClock, waitUntil } from "../../support/clock.ts";
import { openForEach } from "../../support/open-for.ts";
import {
  answering,
  openStage,
  type Handler,
  type Stage,
  type Staging,
  explainAccess,
} from "../../support/stage.ts";
import { openStateForEach } from "../../support/store-place.ts";
import { createWorld, type World } from "../../support/world.ts";

/** Tests when a remote server is probed for a key's permissions, and what later processes reuse. */

let world: World;
let key: string;

const at = openStateForEach();
openForEach(createWorld, (opened) => (world = opened));

beforeEach(async () => {
  at.now = Date.UTC(2026, 0, 15, 12);
  key = await world.addKey({ scopes: ["links.index", "links.show"] });
});

const hour_ms = 60 * 60_000;

async function start(given: Partial<Staging> = {}): Promise<Stage> {
  const state = await at.open();
  const clock = { now: () => at.now, monotonic: () => at.elapsed };
  const openMemory = () => Promise.resolve(state.kept);
  return openStage({ send: world.fetch, key, clock, openMemory, ...given });
}

function advance(milliseconds: number): void {
  at.now += milliseconds;
  at.elapsed += milliseconds;
}

async function changeScopes(scopes: readonly string[]): Promise<void> {
  await world.store.write((db) =>
    db
      .updateTable("api_keys")
      .set({ scopes: JSON.stringify(scopes) })
      .where("scopes", "like", "%links%")
      .execute(),
  );
}

const deniedTools: ReadonlySet<string> = new Set([
  "update_link",
  "list_ios_apps",
  "get_ios_app",
  "update_ios_app",
  "list_android_apps",
  "get_android_app",
  "update_android_app",
  "list_template_versions",
  "get_template_version",
  "preview_template",
  "list_projects",
  "get_project",
  "create_project",
  "update_project",
  "delete_project",
]);

function expectPermittedTools(names: readonly string[]): void {
  expect(names).toEqual(expect.arrayContaining(["list_links", "get_link", "export_links"]));
  expect(names.filter((name) => deniedTools.has(name))).toEqual([]);
}

async function readStoredAccess(): Promise<readonly string[]> {
  await using stage = await start({ probe: "off" });
  const { tools } = await explainAccess(stage);
  return tools.map(({ tool, state }) => `${tool} ${state}`);
}

describe("the first tool list of a process", () => {
  test("contains only the tools that the key may use, and does not change later", async () => {
    await using stage = await start();
    expectPermittedTools(await stage.listNames());
    await stage.settle();
    expect(stage.countChanges()).toBe(0);
  });

  test("is returned after 1.5 s if probes are slow, and is updated once they finish", async () => {
    const gate = createGate();
    const clock = createTestClock();
    const send: Handler = async (request) => {
      await gate.opened;
      return world.fetch(request);
    };
    await using stage = await start({ send, clock, sleep: clock.sleep });
    let shown: readonly string[] | undefined;
    const listing = stage.listNames().then((names) => (shown = names));
    await clock.untilAsleep();
    await waitUntil(() => stage.asked.length === 15);
    clock.advance(1499);
    await stage.client.listPrompts();
    expect(shown).toBeUndefined();
    clock.advance(1);
    expect(await listing).toHaveLength(42);
    expect(await stage.listNames()).toHaveLength(42);
    gate.open();
    await stage.settle();
    expect(stage.countChanges()).toBe(1);
    expectPermittedTools(await stage.listNames());
  });
});

describe("the next process that uses the data folder", () => {
  beforeEach(async () => {
    await using first = await start();
    await first.listNames();
    await first.settle();
  });

  test("uses the stored permissions, and probes again only after explain_access", async () => {
    advance(hour_ms);
    await using stage = await start();
    const names = await stage.listNames();
    expect(stage.asked).toEqual([]);
    expectPermittedTools(names);
    await stage.settle();
    await stage.callTool("explain_access");
    expect(stage.asked).toHaveLength(12);
    expect(stage.countChanges()).toBe(0);
    expect(await stage.listNames()).toEqual(names);
  });

  test("notifies the client once if the key's permissions have changed", async () => {
    await changeScopes(["links.index", "links.update", "ios_apps.show"]);
    await using stage = await start();
    expectPermittedTools(await stage.listNames());
    await stage.callTool("explain_access");
    expect(stage.countChanges()).toBe(1);
    const names = await stage.listNames();
    expect(names).toEqual(expect.arrayContaining(["update_link", "get_ios_app"]));
    expect(names).not.toContain("get_link");
    await using third = await start({ probe: "off" });
    expect(await third.listNames()).toEqual(names);
  });

  test.each([
    ["the account is suspended", answering(401, { error: messages.account_suspended })],
    ["the remote server fails", answering(500, { error: "Oops" })],
  ])("still lists the same tools while %s", async (_, send) => {
    await using first = await start({ probe: "off" });
    const names = await first.listNames();
    await using stage = await start({ send });
    expect(await stage.listNames()).toEqual(names);
    await stage.settle();
    await stage.callTool("explain_access");
    expect(await stage.listNames()).toEqual(names);
    expect(stage.countChanges()).toBe(0);
    await using third = await start({ probe: "off" });
    expect(await third.listNames()).toEqual(names);
  });

  test("repeats probes that are a day old before it lists the tools", async () => {
    advance(24 * hour_ms);
    await using stage = await start();
    expectPermittedTools(await stage.listNames());
    expect(stage.asked).toHaveLength(15);
    expect(stage.countChanges()).toBe(0);
  });

  test("does not use permissions stored for another key", async () => {
    await using stage = await start({ key: world.key, probe: "off" });
    expect(await stage.listNames()).toHaveLength(42);
  });

  test("finds stored permissions but no API key in the data folder", async () => {
    const files = await Promise.all([at.file(), `${at.file()}-wal`].map((file) => readFile(file)));
    expect(files.filter((bytes) => bytes.includes("links.update"))).not.toEqual([]);
    expect(files.filter((bytes) => bytes.includes(key))).toEqual([]);
  });
});

test("a revoked key's tools are hidden even if the key could only read single links", async () => {
  key = await world.addKey({ scopes: ["links.show"] });
  const refuse = answering(401, { error: messages.key_invalid });
  let isRevoked = false;
  const send: Handler = (request) => (isRevoked ? refuse(request) : world.fetch(request));
  await using stage = await start({ send });
  expect(await stage.listNames()).toContain("get_link");
  await stage.settle();
  isRevoked = true;
  advance(60_000);
  await stage.callTool("explain_access");
  expect(await stage.listNames()).toEqual(["resolve_short_link", "explain_access"]);
});

test("a long-running process repeats the probes once a day", async () => {
  await using stage = await start();
  await stage.listNames();
  await stage.settle();
  const asked = stage.asked.length;
  await changeScopes(["links.index", "links.show", "links.update"]);
  advance(24 * hour_ms - 1);
  await stage.callTool("resolve_short_link", { url: "https://a.example" });
  await stage.settle();
  expect(stage.asked).toHaveLength(asked + 1);
  advance(1);
  await stage.callTool("resolve_short_link", { url: "https://a.example" });
  await stage.settle();
  expect(stage.countChanges()).toBe(1);
  expect(await stage.listNames()).toContain("update_link");
});

describe("a key whose create_link call was rejected", () => {
  const refused = ["create_link", "upsert_link"];

  beforeEach(async () => {
    await using first = await start();
    expect(await first.listNames()).toEqual(expect.arrayContaining(refused));
    await first.callTool("create_link", {});
    await first.settle();
    await waitUntil(async () => (await readStoredAccess()).includes("create_link denied"));
  });

  test("the next process hides create_link, even if no probe is rejected", async () => {
    await using stage = await start();
    expect(await stage.listNames()).not.toContain("create_link");
    await stage.settle();
    expect(await stage.listNames()).not.toContain("create_link");
  });

  test("create_link is listed again once explain_access finds new permissions", async () => {
    await changeScopes(["links.index", "links.show", "links.create", "links.update"]);
    await using stage = await start();
    await stage.listNames();
    await stage.callTool("explain_access");
    expect(await stage.listNames()).toContain("create_link");
    expect(stage.countChanges()).toBe(1);
    expect(await readStoredAccess()).toContain("create_link unknown");
    expect((await stage.callTool("create_link", {})).isError).toBe(false);
    await waitUntil(async () => (await readStoredAccess()).includes("create_link granted"));
  });
});

test("a process uses probe results that two other processes stored at the same time", async () => {
  await using one = await start();
  await using two = await start();
  const [names, others] = await Promise.all([one.listNames(), two.listNames()]);
  expect(names).toEqual(others);
  await Promise.all([one.settle(), two.settle()]);
  await using three = await start();
  expect(await three.listNames()).toEqual(names);
  expect(three.asked).toEqual([]);
});

test("a process that cannot open its data folder still probes the key's permissions", async () => {
  const broken = new Error("The folder cannot be used.");
  await using stage = await start({ openMemory: () => Promise.reject(broken) });
  expectPermittedTools(await stage.listNames());
  await stage.callTool("create_link", {});
  await stage.settle();
  expect(stage.reported).toEqual([broken]);
});
