import type { KyselyPlugin } from "kysely";
import { describe, expect, test } from "vitest";
import { StoreBusy } from "../../src/sql/faults.ts";
import { updateProject } from "../../src/store/projects.ts";
import { insertShortPath } from "../../src/store/links.ts";
import type { Store } from "../../src/store/store.ts";
import type { Tenant } from "../../src/store/tables.ts";
import { sha1, sha256 } from "../contract/sample-link.ts";
import { openLinkHost, type LinkHost } from "../support/link-host.ts";
import { openForEach } from "../support/open-for.ts";
import { addLink, now } from "../support/rows.ts";

/** The association files, by which iOS and Android verify that apps may open a project's links. */

const ios = "/.well-known/apple-app-site-association";
const android = "/.well-known/assetlinks.json";
const team_id = "ABCDE12345";

let host: LinkHost;
openForEach(openLinkHost, (opened) => (host = opened));

const read = async (path: string) => JSON.parse((await host.visit(path)).text);

test("the association files of a project without apps are valid and empty", async () => {
  expect(await read(ios)).toEqual({
    applinks: { details: [] },
    webcredentials: { apps: [] },
    appclips: { apps: [] },
  });
  expect(await read(android)).toEqual([]);
});

test("association files list each verifiable app and the paths that open in the app", async () => {
  await host.add("ios_app", { bundle_id: "com.example.one", team_id });
  // Apps created in the same millisecond have no order.
  host.world.advance(1);
  await host.add("ios_app", {
    bundle_id: "com.example.two",
    team_id: "ZYXWV98765",
    clip_bundle_id: "com.example.two.Clip",
  });
  await host.add("android_app", { package_name: "com.example.a", fingerprints: [sha1, sha256] });
  await host.add("android_app", { package_name: "com.example.short", fingerprints: [sha1] });
  const appIDs = ["ABCDE12345.com.example.one", "ZYXWV98765.com.example.two"];
  const components = [
    { "/": "/.well-known/*", exclude: true },
    { "/": "/_waypost/*", exclude: true },
    { "/": "*.qr", exclude: true },
    { "/": "*" },
  ];
  expect(await read(ios)).toEqual({
    applinks: { details: [{ appIDs, components }] },
    webcredentials: { apps: appIDs },
    appclips: { apps: ["ZYXWV98765.com.example.two.Clip"] },
  });
  expect(await read(android)).toEqual([
    {
      relation: ["delegate_permission/common.handle_all_urls"],
      target: {
        namespace: "android_app",
        package_name: "com.example.a",
        sha256_cert_fingerprints: [sha256],
      },
      relation_extensions: {
        "delegate_permission/common.handle_all_urls": { dynamic_app_link_components: components },
      },
    },
  ]);
});

test.each([ios, android])(
  "%s returns 503 while the database is busy and 200 afterwards",
  async (file) => {
    let isFailing = false;
    const failing: KyselyPlugin = {
      transformQuery: ({ node }) => {
        if (isFailing && /"created_at"/.test(JSON.stringify(node))) throw new StoreBusy("locked");
        return node;
      },
      transformResult: ({ result }) => Promise.resolve(result),
    };
    const wrap = (store: Store) => ({ ...store, db: store.db.withPlugin(failing) });
    await using once = await openLinkHost({ wrap });
    await once.visit("/");
    isFailing = true;
    expect((await once.visit(file)).status).toBe(503);
    isFailing = false;
    expect((await once.visit(file)).status).toBe(200);
  },
);

describe("association files", () => {
  test("exclude all paths of a link until the link has an app", async () => {
    const app = await addApps();
    const web = await host.add("link", { path: "web", options: { shorten: true } });
    host.world.advance(1);
    await host.add("link", { path: "grüße/a b", url: "https://example.com" });
    await host.add("link", { path: "in-app", ios_app: { id: app } });
    const short = `/${web.shortened_path}`;
    expect(await listExcluded()).toEqual([
      ["/web", short, "/gr%C3%BC%C3%9Fe/a%20b"],
      ["/web", short, "/grüße/a b"],
    ]);
    const change = { android_app: { package_name: "com.example.a" } };
    await host.world.call("PATCH", `/links/${web.id}`, { body: change });
    expect((await listExcluded())[1]).toEqual(["/grüße/a b"]);
    await host.world.call("DELETE", `/ios_apps/${app}`);
    await host.world.store.finishTasks();
    await host.add("ios_app", { bundle_id: "com.example.two", team_id });
    expect((await listExcluded())[1]?.toSorted()).toEqual(["/grüße/a b", "/in-app"]);
  });

  test("exclude at most 200 paths, starting with the oldest links", async () => {
    await addApps();
    await writeDirectly(async (tenant) => {
      for (let count = 0; count < 201; count += 1) {
        await addLink(tenant, `web-${count}`, { now: now + count });
      }
    });
    const [ofIos, ofAndroid] = await listExcluded();
    expect(ofIos).toEqual(Array.from({ length: 200 }, (_, count) => `/web-${count}`));
    expect(ofAndroid).toEqual(ofIos);
  });

  test("exclude the short path of a link's URL with a query while the link exists", async () => {
    const app = await addApps();
    const web = await host.add("link", { path: "web" });
    host.world.advance(1);
    await host.add("link", { path: "later" });
    await host.add("link", { path: "in-app", ios_app: { id: app } });
    expect(await listExcluded()).toEqual([
      ["/web", "/later"],
      ["/web", "/later"],
    ]);
    const short = await shorten("/web?utm_source=mail");
    await shorten("/in-app?utm_source=mail");
    const all = ["/web", "/later", short];
    expect(await listExcluded()).toEqual([all, all]);
    await host.world.call("DELETE", `/links/${web.id}`);
    expect((await listExcluded())[0]).toEqual(["/later"]);
    await host.world.call("POST", `/links/${web.id}/restore`);
    expect((await listExcluded())[0]).toEqual(all);
  });

  test("exclude the paths of all links before any short paths of URLs with a query", async () => {
    await addApps();
    await writeDirectly(async (tenant) => {
      const linkId = await addLink(tenant, "web-0", { now });
      for (let count = 0; count < 250; count += 1) {
        const path = `short-${String(count).padStart(3, "0")}`;
        await insertShortPath(tenant, { linkId, path, query: `ref=${count}` });
      }
      for (let count = 1; count < 150; count += 1) {
        await addLink(tenant, `web-${count}`, { now: now + count });
      }
    });
    const [ofIos, ofAndroid] = await listExcluded();
    const shorts = Array.from({ length: 50 }, (_, count) => `/short-0${pad(count)}`);
    expect(ofIos).toEqual([
      ...Array.from({ length: 150 }, (_, count) => `/web-${count}`),
      ...shorts,
    ]);
    expect(ofAndroid).toEqual(ofIos);
  });
});

const pad = (count: number) => String(count).padStart(2, "0");

async function shorten(target: string): Promise<string> {
  const url = `${host.origin}${target}`;
  const { status, body } = await host.world.call("POST", "/short_links", { body: { url } });
  expect(status).toBe(201);
  return `/${body.shortened_path}`;
}

test("association files change immediately when an app is changed or deleted", async () => {
  const app = await host.add("ios_app", { bundle_id: "com.example.one", team_id });
  expect(JSON.stringify(await read(ios))).toContain("com.example.one");
  const change = { ios_app: { bundle_id: "com.example.renamed" } };
  await host.world.call("PATCH", `/ios_apps/${app.id}`, { body: change });
  expect(JSON.stringify(await read(ios))).toContain("com.example.renamed");
  await host.world.call("DELETE", `/ios_apps/${app.id}`);
  expect(JSON.stringify(await read(ios))).not.toContain("com.example");
  const other = { package_name: "com.example.a", fingerprints: [sha256] };
  const { id } = await host.add("android_app", other);
  expect(await read(android)).toHaveLength(1);
  await host.world.call("DELETE", `/android_apps/${id}`);
  expect(await read(android)).toEqual([]);
});

test("association files list only the project's own apps, even on its custom domain", async () => {
  await host.add("ios_app", { bundle_id: "com.example.one", team_id });
  const { id } = await host.world.addProject({
    subdomain: "other",
    custom_domain: "go.example.com",
  });
  const other = await host.visit(ios, { host: "other.localhost" });
  expect(other.text).not.toContain("com.example.one");
  await host.world.store.write((db) => updateProject(db, id, { custom_domain_verified: true }, 0));
  expect((await host.visit(ios, { host: "go.example.com" })).text).toBe(other.text);
});

describe.each([ios, android])("%s", (path) => {
  test("is sent as JSON and can be cached for an hour and revalidated with its ETag", async () => {
    await host.add("ios_app", { bundle_id: "com.example.one", team_id });
    const { status, headers } = await host.visit(path);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "content-type": "application/json",
      "cache-control": "public, max-age=3600",
      etag: expect.stringMatching(/^"[\w-]{43}"$/),
    });
    expect(headers.location).toBeUndefined();
    const etag = String(headers.etag);
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
      const again = await host.visit(path, { headers: { "if-none-match": known } });
      expect(again).toMatchObject({ status: 304, text: "", headers: { etag } });
    }
    const changed = await host.visit(path, { headers: { "if-none-match": '"x"' } });
    expect(changed.status).toBe(200);
  });

  test("cannot be replaced or changed by a link", async () => {
    const app = await host.add("ios_app", { bundle_id: "com.example.one", team_id });
    await host.add("android_app", { package_name: "com.example.a", fingerprints: [sha256] });
    const before = await host.visit(path);
    for (const taken of [path, path.slice(1), path.toUpperCase(), encodeURIComponent(path)]) {
      const body = { path: taken, url: "https://evil.example/" };
      expect((await host.world.call("POST", "/links", { body })).status).toBe(422);
    }
    const ios_app = { id: app.id };
    await host.add("link", { path: `one${path}`, url: "https://evil.example/", ios_app });
    await writeDirectly(async (tenant) => {
      for (let count = 0; count < 300; count += 1) {
        await addLink(tenant, `many/${count}${path}`, { ios_app_id: app.id });
      }
    });
    const after = await host.visit(path);
    expect(after.bytes.equals(before.bytes)).toBe(true);
    expect(after.headers.etag).toBe(before.headers.etag);
  });
});

/** Writes to the database directly, which is faster than the API. */
function writeDirectly(write: (tenant: Tenant) => Promise<void>): Promise<void> {
  const { store, project } = host.world;
  return store.write((db) => write({ db, projectId: project.id }));
}

/** The paths that each file excludes, except for Waypost's own. */
async function listExcluded() {
  const [[statement], { applinks }] = await Promise.all([read(android), read(ios)]);
  const opening = statement.relation_extensions["delegate_permission/common.handle_all_urls"];
  const lists = [applinks.details[0].components, opening.dynamic_app_link_components];
  return lists.map((list) => list.slice(3, -1).map((one: { "/": string }) => one["/"]));
}

async function addApps(): Promise<string> {
  const { id } = await host.add("ios_app", { bundle_id: "com.example.one", team_id });
  await host.add("android_app", { package_name: "com.example.a", fingerprints: [sha256] });
  return String(id);
}
