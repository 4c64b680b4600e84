import { describe, expect, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { noteClick } from "../support/rows.ts";
import { openForEach } from "../support/open-for.ts";
import { createWorld, type Reply, type World } from "../support/world.ts";

/** Tests restoring deleted links and apps over HTTP. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const unknownId = "0190a000-0000-7000-8000-000000000000";
const day_ms = 24 * 60 * 60 * 1000;

const send = async (method: string, path: string, body?: object, key?: string): Promise<Reply> =>
  world.call(method, path, { ...(body && { body }), ...(key !== undefined && { key }) });

async function remove(path: string): Promise<void> {
  expect((await send("DELETE", path)).status).toBe(204);
}

const read = async (path: string) => (await send("GET", path)).body;
const list = async (query = "") => (await world.call("GET", "/links", { query })).body;
const readRow = (id: string) =>
  world.store.db
    .selectFrom("links")
    .select(["created_at", "created_via", "updated_at"])
    .where("id", "=", id)
    .executeTakeFirst();

const whole = {
  path: "spring",
  name: "Spring",
  url: "https://example.com/spring",
  social_title: "Spring",
  enable_forced_redirect: true,
  options: { shorten: true },
};
const iosApp = { ios_app: { bundle_id: "com.shop", team_id: "TEAM000001", name: "Shop" } };
const androidApp = { android_app: { package_name: "com.shop", fingerprints: ["AA:BB"] } };

describe("a deleted link", () => {
  test("is not returned by GET or in lists, and its path can be reused", async () => {
    const { id } = await world.make("/links", whole);
    await world.make("/links", { path: "summer" });
    await remove(`/links/${id}`);
    expect((await send("GET", `/links/${id}`)).status).toBe(404);
    expect((await list()).meta.count).toBe(1);
    expect((await list("q[path_eq]=spring")).meta.count).toBe(0);
    expect((await send("DELETE", `/links/${id}`)).status).toBe(404);
    const { body } = await world.call("GET", `/projects/${world.project.id}`, {
      key: world.master,
    });
    expect(body.links_count).toBe(1);
    await world.make("/links", { path: "spring" });
  });

  test("is restored with its clicks, timestamps and short path", async () => {
    const link = await world.make("/links", whole);
    noteClick(world.clicks, world.project.id, link.id);
    const before = await read(`/links/${link.id}`);
    expect(before.clicks).toBe(1);
    const row = await readRow(link.id);
    world.advance(day_ms);
    await remove(`/links/${link.id}`);
    world.advance(day_ms);
    const reply = await send("POST", `/links/${link.id}/restore`);
    expect([reply.status, reply.body]).toEqual([200, before]);
    expect(await read(`/links/${link.id}`)).toEqual(before);
    // The new time keeps the restored link from making its host look familiar.
    expect(await readRow(link.id)).toEqual({ ...row, updated_at: world.clock.now() });
    expect((await list()).links).toEqual([before]);
    const url = `http://default.localhost:8787/${before.shortened_path}`;
    expect((await send("POST", "/short_links/resolve", { url })).body).toEqual(before);
    for (const path of [before.path, before.shortened_path]) {
      expect((await send("POST", "/links", { path })).body.error).toBe(
        "Path has already been taken",
      );
    }
  });

  test("is restored with the clicks from before and after its deletion", async () => {
    const { id } = await world.make("/links", { path: "spring" });
    noteClick(world.clicks, world.project.id, id);
    await remove(`/links/${id}`);
    await world.clicks.flush(world.project.id);
    noteClick(world.clicks, world.project.id, id);
    expect((await send("POST", `/links/${id}/restore`)).body.clicks).toBe(2);
    noteClick(world.clicks, world.project.id, id);
    expect((await read(`/links/${id}`)).clicks).toBe(3);
  });

  test("cannot be restored while another link uses its path or shortened path", async () => {
    const { id, shortened_path } = await world.make("/links", whole);
    await remove(`/links/${id}`);
    const restore = async () => {
      const { status, body } = await send("POST", `/links/${id}/restore`);
      return [status, body.error];
    };
    const first = await world.make("/links", { path: "spring" });
    expect(await restore()).toEqual([422, "Path has already been taken"]);
    const second = await world.make("/links", { path: shortened_path });
    const both = "Path has already been taken and Shortened path has already been taken";
    expect(await restore()).toEqual([422, both]);
    await remove(`/links/${first.id}`);
    expect(await restore()).toEqual([422, "Shortened path has already been taken"]);
    await remove(`/links/${second.id}`);
    expect((await send("POST", `/links/${id}/restore`)).status).toBe(200);
    expect((await list()).meta.count).toBe(1);
  });

  test("cannot be restored if the free plan's link limit is reached", async () => {
    const project = await world.addProject({ plan: "free", max_links: 1 });
    const key = await world.addKey({ project });
    const { id } = (await send("POST", "/links", { path: "one" }, key)).body;
    await world.call("DELETE", `/links/${id}`, { key });
    const other = (await send("POST", "/links", { path: "two" }, key)).body;
    const path = `/links/${id}/restore`;
    const refused = await world.call("POST", path, { key });
    expect([refused.status, refused.body.error]).toEqual([401, messages.link_limit(1)]);
    await world.call("DELETE", `/links/${other.id}`, { key });
    expect((await world.call("POST", path, { key })).status).toBe(200);
  });

  test("can be restored for exactly 30 days", async () => {
    const [first, second] = [
      await world.make("/links", { path: "one" }),
      await world.make("/links", { path: "two" }),
    ];
    await remove(`/links/${first.id}`);
    await remove(`/links/${second.id}`);
    world.advance(30 * day_ms - 1);
    expect((await send("POST", `/links/${first.id}/restore`)).status).toBe(200);
    world.advance(1);
    const late = await send("POST", `/links/${second.id}/restore`);
    expect([late.status, late.body.error]).toEqual([404, messages.link_not_found]);
  });
});

describe("POST /restore", () => {
  test("returns an already restored link only if the key has the scope links.show", async () => {
    const link = await world.make("/links", whole);
    await remove(`/links/${link.id}`);
    await send("POST", `/links/${link.id}/restore`);
    const changed = (await send("PATCH", `/links/${link.id}`, { name: "Later" })).body;
    const again = await send("POST", `/links/${link.id}/restore`);
    expect([again.status, again.body]).toEqual([200, changed]);
    const key = await world.addKey({ scopes: ["links.create"] });
    const refused = await world.call("POST", `/links/${link.id}/restore`, { key });
    const lacking = messages.scope_missing("links.show");
    expect([refused.status, refused.body.error]).toEqual([401, lacking]);
  });

  test.each([
    ["links", messages.link_not_found],
    ["ios_apps", messages.ios_app_not_found],
    ["android_apps", messages.android_app_not_found],
  ])("returns 404 for an ID that never existed in %s", async (kind, message) => {
    const { status, body } = await send("POST", `/${kind}/${unknownId}/restore`);
    expect([status, body.error]).toEqual([404, message]);
  });

  test("requires the same scope and role as creation and uses the same rate limit", async () => {
    const { id } = await world.make("/links", { path: "spring" });
    const app = await world.make("/ios_apps", iosApp);
    await remove(`/links/${id}`);
    await remove(`/ios_apps/${app.id}`);
    const key = await world.addKey({ scopes: ["links.destroy"] });
    expect((await world.call("POST", `/links/${id}/restore`, { key })).status).toBe(401);
    const viewer = await world.addKey({ role: "viewer" });
    const refused = await world.call("POST", `/ios_apps/${app.id}/restore`, { key: viewer });
    expect(refused.body.error).toBe(messages.role_required("manager"));
    const spender = await world.addKey({ scopes: ["links.create"] });
    const told = new Set<number>();
    for (let turn = 0; turn < 601; turn += 1) {
      const path = `/links/${unknownId}/restore`;
      told.add((await world.call("POST", path, { key: spender })).status);
    }
    expect([...told]).toEqual([404, 429]);
  });
});

test("a project's key cannot restore another project's records", async () => {
  const link = await world.make("/links", whole);
  const app = await world.make("/ios_apps", iosApp);
  const key = await world.addKey({ project: await world.addProject() });
  const paths = [`/links/${link.id}/restore`, `/ios_apps/${app.id}/restore`];
  const askAll = () => Promise.all(paths.map((path) => world.call("POST", path, { key })));
  const before = await askAll();
  await remove(`/links/${link.id}`);
  await remove(`/ios_apps/${app.id}`);
  const after = await askAll();
  for (const replies of [before, after]) {
    expect(replies.map(({ status }) => status)).toEqual([404, 404]);
  }
  expect((await send("POST", paths[0] ?? "")).status).toBe(200);
});

describe.each([
  ["ios_app", iosApp, "bundle_id", "Bundle has already been taken"],
  ["android_app", androidApp, "package_name", "Package name has already been taken"],
] as const)("%s", (kind, fields, identifier, taken) => {
  const path = (id: string) => `/${kind}s/${id}`;
  const addApp = () => world.make(`/${kind}s`, fields);
  const addLink = (id: string, name: string) =>
    world.make("/links", { path: name, [kind]: { id } });
  const readApp = async (id: string) => (await read(`/links/${id}`))[`${kind}_id`];
  const restore = (id: string) => send("POST", `${path(id)}/restore`);

  test("a restored app is reattached to its links unless they now have another app", async () => {
    const app = await addApp();
    const other = await world.make(`/${kind}s`, {
      [kind]: { ...Object.values(fields)[0], [identifier]: "com.other" },
    });
    const stays = await addLink(app.id, "stays");
    const moves = await addLink(app.id, "moves");
    await remove(path(app.id));
    expect((await send("GET", path(app.id))).status).toBe(404);
    expect(await readApp(stays.id)).toBeNull();
    await send("PATCH", `/links/${moves.id}`, { [kind]: { id: other.id } });
    const reply = await restore(app.id);
    expect([reply.status, reply.body]).toEqual([200, app]);
    expect((await send("GET", path(app.id))).body).toEqual(app);
    expect([await readApp(stays.id), await readApp(moves.id)]).toEqual([app.id, other.id]);
    // A second restore does not add the app to a link that lost it before the deletion.
    await send("PATCH", `/links/${moves.id}`, { [kind]: null });
    await remove(path(app.id));
    await restore(app.id);
    expect([await readApp(stays.id), await readApp(moves.id)]).toEqual([app.id, null]);
    expect((await restore(app.id)).body).toEqual(app);
  });

  test("a restored app stays detached from links whose app was set to null meanwhile", async () => {
    const app = await addApp();
    const other = await world.make(`/${kind}s`, {
      [kind]: { ...Object.values(fields)[0], [identifier]: "com.other" },
    });
    const [once, twice] = [await addLink(app.id, "once"), await addLink(app.id, "twice")];
    await remove(path(app.id));
    await send("PATCH", `/links/${once.id}`, { [kind]: null });
    await send("PATCH", `/links/${twice.id}`, { [kind]: { id: other.id } });
    await send("PATCH", `/links/${twice.id}`, { [kind]: null });
    expect((await restore(app.id)).status).toBe(200);
    expect([await readApp(once.id), await readApp(twice.id)]).toEqual([null, null]);
  });

  test("a deleted app cannot be restored while another app uses its identifier", async () => {
    const app = await addApp();
    await remove(path(app.id));
    const heir = await addApp();
    const reply = await restore(app.id);
    expect([reply.status, reply.body.error]).toEqual([422, taken]);
    await remove(path(heir.id));
    expect((await restore(app.id)).status).toBe(200);
  });

  test("a deleted app and link are reconnected, whichever of them is restored first", async () => {
    const app = await addApp();
    const link = await addLink(app.id, "spring");
    const acts = {
      app: () => remove(path(app.id)),
      link: () => remove(`/links/${link.id}`),
    } as const;
    for (const order of [["app", "link"] as const, ["link", "app"] as const]) {
      for (const back of [["app", "link"] as const, ["link", "app"] as const]) {
        for (const name of order) await acts[name]();
        for (const name of back) {
          const reply = await (name === "app"
            ? restore(app.id)
            : send("POST", `/links/${link.id}/restore`));
          expect(reply.status, reply.text).toBe(200);
          if (name === "link" && back[0] === "link") {
            expect(reply.body[`${kind}_id`]).toBeNull();
          }
        }
        expect(await readApp(link.id)).toBe(app.id);
      }
    }
  });

  test("a restored app is not reattached to a link that used another app meanwhile", async () => {
    const first = await addApp();
    const last = await world.make(`/${kind}s`, {
      [kind]: { ...Object.values(fields)[0], [identifier]: "com.other" },
    });
    const { id } = await addLink(first.id, "spring");
    await remove(path(first.id));
    await send("PATCH", `/links/${id}`, { [kind]: { id: last.id } });
    await remove(path(last.id));
    await restore(first.id);
    expect(await readApp(id)).toBeNull();
    await restore(last.id);
    expect(await readApp(id)).toBe(last.id);
  });
});
