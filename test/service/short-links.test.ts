import { expect, test } from "vitest";
import { updateProject } from "../../src/store/projects.ts";
import { createWorld, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests shortening addresses and resolving short links. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const host = "http://default.localhost:8787";
const code = /^[2-9a-kmnp-zA-HJ-NP-Z]{8}$/;

async function shorten(world: World, body: object) {
  return world.call("POST", "/short_links", { body });
}

async function resolve(world: World, url: unknown) {
  return world.call("POST", "/short_links/resolve", { key: null, body: { url } });
}

test("POST /short_links with the URL of a link adds a shortened path to that link", async () => {
  const link = await world.make("/links", { path: "spring/sale", name: "Spring" });
  const reply = await shorten(world, { url: `${host}/spring/sale/#top` });
  expect(reply.status).toBe(201);
  expect(reply.body).toEqual({ ...link, shortened_path: expect.stringMatching(code) });
  expect((await world.call("GET", `/links/${link.id}`)).body).toEqual(reply.body);
  expect((await world.call("GET", "/links")).body.meta.count).toBe(1);
});

test("shortening a link again returns its existing shortened path", async () => {
  await world.make("/links", { path: "a" });
  const first = (await shorten(world, { url: `${host}/a` })).body;
  for (const url of [`${host}/a`, `${host}/${first.shortened_path}`]) {
    const again = await shorten(world, { url });
    expect([again.status, again.body]).toEqual([201, first]);
  }
});

test("shortening a URL that belongs to no link creates a link with a shortened path", async () => {
  const url = "https://example.com/page?a=b#c";
  const reply = await shorten(world, { url });
  expect(reply.status).toBe(201);
  expect(reply.body).toMatchObject({ url, shortened_path: expect.stringMatching(code) });
  expect(reply.body.path).not.toBe(reply.body.shortened_path);
  expect((await world.call("GET", "/links")).body.links).toEqual([reply.body]);
});

const prefixes = [
  ["go-", "go-"],
  ["go/", "go/"],
  ["/go/", "go/"],
  ["%C3%A9", "é"],
  ["", ""],
  [null, ""],
] as const;

test.each(prefixes)(
  "shortening a link with the prefix %j returns a path that starts with %j",
  async (prefix, begins) => {
    await world.make("/links", { path: "a" });
    for (const url of [`${host}/a`, "https://example.com/"]) {
      const { status, body } = await shorten(world, { url, prefix });
      expect(status).toBe(201);
      expect(body.shortened_path.startsWith(begins)).toBe(true);
      expect(body.shortened_path.slice(begins.length)).toMatch(code);
    }
  },
);

test("shortening a link adds one short path for each prefix", async () => {
  const link = await world.make("/links", { path: "a" });
  const shortenTo = async (prefix?: string) => {
    const { status, body } = await shorten(world, { url: `${host}/a`, prefix });
    expect(status, JSON.stringify(body)).toBe(201);
    expect(body.id).toBe(link.id);
    return body.shortened_path;
  };
  const first = await shortenTo("go-");
  const [second, third] = [await shortenTo("no-"), await shortenTo("é/")];
  expect(second).toMatch(/^no-[^-/]{8}$/);
  expect(third).toMatch(/^é\/[^-/]{8}$/);
  // Repeated requests return the same path, and the link keeps its own shortened path.
  expect(await shortenTo("no-")).toBe(second);
  expect(await shortenTo("é/")).toBe(third);
  expect(await shortenTo("go-")).toBe(first);
  expect(await shortenTo()).toBe(first);
  const read = await world.call("GET", `/links/${link.id}`);
  expect(read.body).toEqual({ ...link, shortened_path: first });
  for (const path of [first, second, third]) {
    const resolved = await resolve(world, `${host}/${encodeURI(path)}`);
    expect([resolved.status, resolved.body]).toEqual([200, read.body]);
  }
  const taken = await world.call("POST", "/links", { body: { path: second } });
  expect(taken.body).toEqual({ error: "Path has already been taken" });
});

const refusals = [
  [{ url: "javascript:alert(1)" }, "Url must be an http or https address"],
  [{ url: "spring" }, "Url must be an http or https address"],
  [{ url: "https://a:b@example.com/" }, "Url can't contain a user name or password"],
  [{ url: "https://example.com/\n" }, "Url contains control characters"],
  [{ url: `${host}/unknown` }, "Url is not the address of a link"],
  [{ url: `${host}/%E0%A4` }, "Url is not the address of a link"],
  [{ url: `${host}/a`, prefix: ".well-known/" }, "Prefix is reserved"],
  [{ url: `${host}/a`, prefix: "//" }, "Prefix can't begin with more than one slash"],
  [{ url: `${host}/a`, prefix: "%" }, "Prefix has invalid percent-encoding"],
  [{ url: `${host}/a`, prefix: "a/../" }, "Prefix can't contain the segments . or .."],
  [{ url: `${host}/a`, prefix: "a\n" }, "Prefix contains control characters"],
  [
    { url: `${host}/a`, prefix: "a?b" },
    "Prefix can't contain a question mark or a hash sign: add parameters to the link's address",
  ],
  [{ url: `${host}/a`, prefix: [5] }, "Prefix must be a string"],
  [{ url: [5] }, "Url must be a string"],
] as const;

test.each(refusals)(
  'POST /short_links returns its 422 messages under "errors": %j',
  async (body, errors) => {
    const link = await world.make("/links", { path: "a" });
    const reply = await shorten(world, body);
    expect([reply.status, reply.body]).toEqual([422, { errors }]);
    expect((await world.call("GET", "/links")).body.links).toEqual([link]);
  },
);

test.each(["/short_links", "/short_links/resolve"])(
  "POST %s without a url returns 400",
  async (path) => {
    for (const body of [{}, { url: null }, { url: "" }, { url: " " }, { prefix: "go-" }]) {
      const reply = await world.call("POST", path, { body });
      const wanted = [400, { error: "Required parameter is missing: url." }];
      expect([reply.status, reply.body]).toEqual(wanted);
    }
  },
);

test("equivalent spellings of a short URL resolve to the same link without a key", async () => {
  const link = await world.make("/links", { path: "a/b", options: { shorten: true } });
  const short: string = link.shortened_path;
  for (const path of [
    short,
    `${short}?x=1#y`,
    `${short}/`,
    "a/b",
    "a/b/",
    "a/b//",
    "a%2Fb%2F",
    "a%2Fb",
  ]) {
    const reply = await resolve(world, `${host}/${path}`);
    expect([path, reply.status, reply.body]).toEqual([path, 200, link]);
  }
  const shouted = await resolve(world, `HTTPS://DEFAULT.LOCALHOST/${link.shortened_path}`);
  expect([shouted.status, shouted.body.id]).toEqual([200, link.id]);
});

test("a URL resolves only to links of the project that owns its host", async () => {
  const other = await world.addProject({ subdomain: "other" });
  const link = await world.make("/links", { path: "Spring", options: { shorten: true } });
  const path: string = link.shortened_path;
  for (const url of [
    `http://${other.subdomain}.localhost:8787/${path}`,
    `http://unknown.localhost:8787/${path}`,
    `http://localhost:8787/${path}`,
    `http://a.default.localhost:8787/${path}`,
    `https://example.com/${path}`,
    `${host}/`,
    `${host}/spring`,
    `${host}/%E0%A4`,
  ]) {
    const reply = await resolve(world, url);
    expect([url, reply.status, reply.body]).toEqual([url, 404, { error: "Link not found" }]);
  }
});

test("a suspended project's links are not resolved", async () => {
  const other = await world.addProject({ subdomain: "other" });
  const key = await world.addKey({ project: other });
  await world.call("POST", "/links", { key, body: { path: "spring" } });
  const url = `http://other.localhost:8787/spring`;
  expect((await resolve(world, url)).status).toBe(200);
  for (const [suspended, status] of [
    [true, 404],
    [false, 200],
  ] as const) {
    await world.store.write((db) => updateProject(db, other.id, { suspended }, 0));
    const reply = await resolve(world, url);
    expect([suspended, reply.status]).toEqual([suspended, status]);
    if (suspended) expect(reply.body).toEqual({ error: "Link not found" });
  }
});

test.each(["javascript:alert(1)", "path", "https://a:b@default.localhost/a"])(
  'resolving %j returns a 422 with its message under "error"',
  async (url) => {
    const reply = await resolve(world, url);
    expect(reply.status).toBe(422);
    expect(Object.keys(reply.body)).toEqual(["error"]);
    expect(reply.body.error).toMatch(/^Url /);
  },
);

test("links can be resolved on a custom domain only after the domain is verified", async () => {
  const verified = { custom_domain: "go.example.com", custom_domain_verified: true };
  const claimed = { custom_domain: "claimed.example.com", custom_domain_verified: false };
  const mine = await world.addKey({ project: await world.addProject(verified) });
  const claimant = await world.addKey({ project: await world.addProject(claimed) });
  for (const key of [mine, claimant]) {
    await world.call("POST", "/links", { key, body: { path: "a" } });
  }
  expect((await resolve(world, "https://go.example.com/a")).status).toBe(200);
  expect((await resolve(world, "https://claimed.example.com/a")).status).toBe(404);
  const url = "https://GO.example.com/a";
  const shortened = await world.call("POST", "/short_links", { key: mine, body: { url } });
  expect(shortened.body).toMatchObject({ path: "a", shortened_path: expect.stringMatching(code) });
  const found = await resolve(world, `https://go.example.com/${shortened.body.shortened_path}`);
  expect(found.body).toEqual(shortened.body);
});
