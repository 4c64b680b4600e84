import { describe, expect, test } from "vitest";
import { androidAppStore, iosAppStore } from "../../../src/store/apps.ts";
import type { Tenant } from "../../../src/store/tables.ts";
import type { AssistantWorld } from "../../support/assistant-world.ts";
import { openForEach } from "../../support/open-for.ts";
import { openPublicWorld, publicName, type PublicHost } from "../../support/public-host.ts";
import { addLink, makeId, now } from "../../support/rows.ts";

/** `check_domain` for a project with more apps and paths than association files can hold. */

const print = Array.from({ length: 32 }, () => "AB").join(":");
const bare = { name: null, custom_scheme: null } as const;
const noStore = { app_store_id: null, clip_bundle_id: null } as const;

let assistant: AssistantWorld;
let host: PublicHost;

openForEach(
  () => openPublicWorld(),
  async (opened) => {
    assistant = opened;
    host = opened.host;
    const unasked = { kind: "timed_out" } as const;
    host.others.set("app-site-association.cdn-apple.com", unasked);
    host.others.set("digitalassetlinks.googleapis.com", unasked);
    const ios_app = { bundle_id: "com.example.one", team_id: "ABCDE12345" };
    await assistant.plant("ios_app", ios_app);
  },
);

type Finding = { readonly code: string; readonly severity: string; readonly message: string };

async function check() {
  const { structured, isError, text } = await assistant.callTool("check_domain", {});
  expect(isError, text).toBe(false);
  const found: readonly Finding[] = structured.domain.findings;
  const own = found.filter(({ code }) => !code.includes("_cache_"));
  return {
    ok: structured.domain.ok,
    codes: own.map(({ severity, code }) => `${severity} ${code}`),
    messages: own.map(({ message }) => message),
  };
}

/** Writes directly to the database, which is faster than the API. */
function plant(write: (tenant: Tenant) => Promise<void>): Promise<void> {
  const { store, project } = assistant.world;
  return store.write((db) => write({ db, projectId: project.id }));
}

function plantLinks(count: number, name: (index: number) => string): Promise<void> {
  return plant(async (tenant) => {
    for (let index = 0; index < count; index += 1) {
      await addLink(tenant, name(index), { now: now + index });
    }
  });
}

function plantAndroidApps(count: number): Promise<void> {
  return plant(async (tenant) => {
    for (let index = 0; index < count; index += 1) {
      const android_app = { ...bare, package_name: `com.shop.a${index}`, fingerprints: [print] };
      await androidAppStore.insert(tenant, makeId(), android_app, now + index);
    }
  });
}

function shorten(query: string) {
  const body = { url: `http://default.localhost:8787/web-0?${query}` };
  return assistant.world.call("POST", "/short_links", { body });
}

async function readFile(name: string) {
  const file = { hostname: publicName, path: `/.well-known/${name}`, agent: "test" };
  const signal = new AbortController().signal;
  const read = await host.fetchFile({ ...file, most_bytes: 1024 * 1024 }, signal);
  return read.kind === "answered" ? JSON.parse(read.body.toString()) : undefined;
}

async function countExcluded(): Promise<number> {
  const [statement] = await readFile("assetlinks.json");
  const [opening] = Object.values<Record<string, readonly unknown[]>>(
    statement.relation_extensions,
  );
  return (opening?.["dynamic_app_link_components"]?.length ?? 0) - 4;
}

describe("paths of links without an app", () => {
  test("cause no warning in check_domain if both association files list them all", async () => {
    await plantAndroidApps(1);
    await plantLinks(200, (index) => `web-${index}`);
    expect(await check()).toEqual({ ok: true, codes: [], messages: [] });
    expect(await countExcluded()).toBe(200);
  });

  test("that do not all fit into the files cause a warning that says how many fit", async () => {
    await plantAndroidApps(10);
    await plantLinks(200, (index) => `web-${index}-${"x".repeat(50)}`);
    const { ok, codes, messages } = await check();
    const kept = await countExcluded();
    expect([kept > 100, kept < 200]).toEqual([true, true]);
    expect([ok, codes]).toEqual([true, ["warning browser_links_left_out"]]);
    expect(messages[0]).toContain(`of their paths (200 on iOS and ${kept} on Android): `);
    expect(messages[0]).toContain("up to 200 or 128 KB of the file");
  });

  test("include short paths with a query, which also count toward each file's limit", async () => {
    await plantAndroidApps(1);
    await plantLinks(199, (index) => `web-${index}`);
    const { body } = await shorten("utm_source=mail");
    expect(await check()).toEqual({ ok: true, codes: [], messages: [] });
    expect(await countExcluded()).toBe(200);
    expect(JSON.stringify(await readFile("assetlinks.json"))).toContain(
      `"/${body.shortened_path}"`,
    );
    await shorten("utm_source=news");
    const { codes, messages } = await check();
    expect(codes).toEqual(["warning browser_links_left_out"]);
    expect(messages[0]).toContain(
      "199 links have no app. The association files list only some of their paths (200): ",
    );
  });
});

test("check_domain reports Android apps that do not fit into assetlinks.json", async () => {
  await plantAndroidApps(300);
  const named = (await readFile("assetlinks.json")).length;
  const { ok, codes, messages } = await check();
  expect([ok, codes]).toEqual([false, ["error android_apps_left_out"]]);
  expect(named).toBeLessThan(300);
  expect(messages[0]).toContain(`no room for "com.shop.a${named}", "com.shop.a${named + 1}"`);
  expect(messages[0]).toContain(` and ${300 - named - 5} more`);
});

test("check_domain reports iOS apps that do not fit into the association file", async () => {
  const long = "x".repeat(400);
  await plant(async (tenant) => {
    for (let index = 0; index < 400; index += 1) {
      const ids = { bundle_id: `com.${long}.a${index}`, team_id: "ABCDE12345" };
      await iosAppStore.insert(tenant, makeId(), { ...bare, ...noStore, ...ids }, now + index);
    }
  });
  const { ok, codes } = await check();
  expect([ok, codes]).toEqual([false, ["error ios_apps_left_out"]]);
});
