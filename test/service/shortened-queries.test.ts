import { describe, expect, test } from "vitest";
import { dropExpired } from "../../src/store/bin.ts";
import { claimAddress, insertShortPath } from "../../src/store/links.ts";
import { openForEach } from "../support/open-for.ts";
import { addLink } from "../support/rows.ts";
import { createWorld, type World } from "../support/world.ts";

/** Tests shortening the address of a link together with a query. */

const host = "http://default.localhost:8787";
const code = /^[2-9a-kmnp-zA-HJ-NP-Z]{8}$/;

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const shorten = (url: string, prefix?: string) =>
  world.call("POST", "/short_links", { body: { url, ...(prefix !== undefined && { prefix }) } });
const resolve = (path: string) =>
  world.call("POST", "/short_links/resolve", { key: null, body: { url: `${host}/${path}` } });
const emptyBin = () => dropExpired(world.store, world.now(), new AbortController().signal);
const countRows = async () =>
  (await world.store.db.selectFrom("short_paths").selectAll().execute()).length;

async function shortenTo(url: string, prefix?: string): Promise<string> {
  const reply = await shorten(url, prefix);
  expect(reply.status, reply.text).toBe(201);
  return reply.body.shortened_path;
}

describe("shortening a link's URL with a query", () => {
  test("creates a short path for each query in addition to the link's own short path", async () => {
    const link = await world.make("/links", { path: "product", options: { shorten: true } });
    const one = await shorten(`${host}/product?id=1#top`);
    expect([one.status, one.body]).toEqual([
      201,
      { ...link, shortened_path: expect.stringMatching(code) },
    ]);
    const two = await shortenTo(`${host}/product?id=2`);
    const all = new Set([link.shortened_path, one.body.shortened_path, two]);
    expect(all.size).toBe(3);
    expect((await world.call("GET", `/links/${link.id}`)).body).toEqual(link);
    expect((await shorten(`${host}/product?`)).body).toEqual(link);
    expect((await world.call("GET", "/links")).body.meta.count).toBe(1);
  });

  test("returns the same short path for every URL of the same link and query", async () => {
    const link = await world.make("/links", { path: "a b", options: { shorten: true } });
    const first = await shortenTo(`${host}/a%20b?id=1`);
    for (const path of ["a%20b?id=1", "a%20b/?id=1#x", `${link.shortened_path}?id=1`, first]) {
      expect(await shortenTo(`${host}/${path}`)).toBe(first);
    }
    expect(await shortenTo(`${host}/${first}?id=1`)).toBe(first);
    const more = await shortenTo(`${host}/${first}?b=2`);
    expect(await shortenTo(`${host}/a%20b?id=1&b=2`)).toBe(more);
    expect(await shortenTo(`${host}/a%20b?b=2&id=1`)).not.toBe(more);
    expect(await countRows()).toBe(3);
  });

  test("makes the short URL resolve to the link with the query unchanged", async () => {
    const link = await world.make("/links", { path: "product", options: { shorten: true } });
    const short = await shortenTo(`${host}/product?q=%20+%C3%A9&a[]=1&a[]=2`);
    for (const path of [short, `${short}/`, `${short}?x=1`]) {
      const { status, body } = await resolve(path);
      expect([status, body]).toEqual([200, { ...link, query: "q=%20+%C3%A9&a[]=1&a[]=2" }]);
    }
    expect((await resolve("product?q=1")).body).toEqual(link);
    expect((await resolve(link.shortened_path)).body).toEqual(link);
    const written = await shortenTo(`${host}/product?größe=ü`);
    expect((await resolve(written)).body.query).toBe("gr%C3%B6%C3%9Fe=%C3%BC");
  });

  test("creates a short path per prefix and returns the first if no prefix is sent", async () => {
    await world.make("/links", { path: "product" });
    const url = `${host}/product?id=1`;
    const first = await shortenTo(url, "go-");
    expect(first).toMatch(/^go-/);
    const second = await shortenTo(url, "a-");
    expect(second).toMatch(/^a-/);
    expect(await shortenTo(url, "a-")).toBe(second);
    expect(await shortenTo(url, "go-")).toBe(first);
    expect(await shortenTo(url)).toBe(first);
    for (const path of [first, second]) expect((await resolve(path)).body.query).toBe("id=1");
    const other = await shortenTo(`${host}/product?id=2`, "a-");
    expect(other).not.toBe(second);
    expect(await countRows()).toBe(3);
  });

  test("returns an error if the query is longer than 2,000 characters", async () => {
    await world.make("/links", { path: "product" });
    await shortenTo(`${host}/product?${"a".repeat(2000)}`);
    const reply = await shorten(`${host}/product?${"a".repeat(2001)}`);
    const errors = "Url has a query that is too long (maximum is 2000 characters)";
    expect([reply.status, reply.body]).toEqual([422, { errors }]);
    expect(await countRows()).toBe(1);
  });
});

describe("a short path for a link's URL with a query", () => {
  test("cannot be used by another link", async () => {
    await world.make("/links", { path: "product" });
    const short = await shortenTo(`${host}/product?id=1`);
    for (const [method, path] of [
      ["POST", "/links"],
      ["POST", "/links/upsert"],
    ] as const) {
      const reply = await world.call(method, path, { body: { path: short, name: "Mine" } });
      expect([reply.status, reply.body]).toEqual([422, { error: "Path has already been taken" }]);
    }
  });

  test("is deleted and restored together with the link", async () => {
    const { id } = await world.make("/links", { path: "product" });
    const short = await shortenTo(`${host}/product?id=1`);
    await world.call("DELETE", `/links/${id}`);
    expect((await resolve(short)).status).toBe(404);
    expect((await shorten(`${host}/${short}`)).status).toBe(422);
    expect((await world.call("POST", `/links/${id}/restore`)).status).toBe(200);
    expect((await resolve(short)).body).toMatchObject({ id, query: "id=1" });
    expect(await shortenTo(`${host}/product?id=1`)).toBe(short);
  });

  test("can be reused once the link is deleted, but then the link cannot be restored", async () => {
    const { id } = await world.make("/links", { path: "product" });
    const short = await shortenTo(`${host}/product?id=1`);
    await world.call("DELETE", `/links/${id}`);
    const other = await world.make("/links", { path: short });
    const { status, body } = await world.call("POST", `/links/${id}/restore`);
    expect([status, body]).toEqual([422, { error: "Shortened path has already been taken" }]);
    expect((await resolve(short)).body).toEqual(other);
    // The failed restoration must not reserve any of the link's paths.
    await world.store.write(async (db) => {
      const tenant = { db, projectId: world.project.id };
      expect(await claimAddress(tenant, "product", id)).toBe(true);
    });
  });

  test("is permanently deleted together with the link or the project", async () => {
    const gone = await world.make("/links", { path: "gone" });
    await world.make("/links", { path: "kept" });
    await shortenTo(`${host}/gone?id=1`);
    await shortenTo(`${host}/kept?id=1`);
    await world.call("DELETE", `/links/${gone.id}`);
    world.advance(31 * 24 * 60 * 60 * 1000);
    await emptyBin();
    expect(await countRows()).toBe(1);
    await world.call("DELETE", `/projects/${world.project.id}`, { key: world.master });
    await world.store.finishTasks();
    expect(await countRows()).toBe(0);
    const left = await world.store.db.selectFrom("addresses").selectAll().execute();
    expect(left).toEqual([]);
  });
});

test("shortening another project's URL with a query creates an ordinary new link", async () => {
  const other = await world.addProject({ subdomain: "other" });
  const key = await world.addKey({ project: other });
  await world.call("POST", "/links", { key, body: { path: "product" } });
  const { body } = await shorten("http://other.localhost:8787/product?id=1");
  expect(body.url).toBe("http://other.localhost:8787/product?id=1");
  expect(await countRows()).toBe(0);
});

test("permanently deleting a project's links keeps the short paths of other projects", async () => {
  const { store, project: kept } = world;
  // A project that is created later has a greater ID.
  world.advance(1);
  const doomed = await world.addProject({ subdomain: "doomed" });
  const key = await world.addKey({ project: doomed });
  const shortenIn = async (path: string) => {
    const link = await world.call("POST", "/links", { key, body: { path } });
    const url = `http://doomed.localhost:8787/${path}?id=1`;
    await world.call("POST", "/short_links", { key, body: { url } });
    return link.body.id;
  };
  // The other project has the same IDs and paths, and its rows fill the first batch.
  const row = { project_id: kept.id, query: "id=1", place: 0 };
  const planted = Array.from({ length: 1000 }, (_, at) => ({
    ...row,
    link_id: `0-${at}`,
    path: `path-${at}`,
  }));
  await store.write((db) => db.insertInto("short_paths").values(planted).execute());
  const deleted = await shortenIn("deleted");
  await shortenIn("live");
  await store.write(async (db) => {
    const own = db.selectFrom("short_paths").selectAll().where("project_id", "=", doomed.id);
    const copied = (await own.execute()).map((each) => ({ ...each, project_id: kept.id }));
    await db.insertInto("short_paths").values(copied).execute();
  });
  const countOf = async (id: string) => {
    const rows = store.db.selectFrom("short_paths").select("path").where("project_id", "=", id);
    return (await rows.execute()).length;
  };
  await world.call("DELETE", `/links/${deleted}`, { key });
  world.advance(31 * 24 * 60 * 60 * 1000);
  await emptyBin();
  expect([await countOf(doomed.id), await countOf(kept.id)]).toEqual([1, 1002]);
  await world.call("DELETE", `/projects/${doomed.id}`, { key: world.master });
  await store.finishTasks();
  expect([await countOf(doomed.id), await countOf(kept.id)]).toEqual([0, 1002]);
});

test("deleting a link does not release the same short path in another project", async () => {
  const { store, project } = world;
  const [one, other] = [project.id, (await world.addProject()).id];
  const ids: string[] = [];
  for (const projectId of [one, other]) {
    await store.write(async (db) => {
      const linkId = await addLink({ db, projectId }, "product");
      await claimAddress({ db, projectId }, "same", linkId);
      await insertShortPath({ db, projectId }, { linkId, path: "same", query: "a=1" });
      ids.push(linkId);
    });
  }
  await world.call("DELETE", `/links/${ids[0]}`);
  const left = store.db.selectFrom("addresses").select(["project_id", "address"]);
  expect(await left.orderBy("address").execute()).toEqual([
    { project_id: other, address: "product" },
    { project_id: other, address: "same" },
  ]);
});
