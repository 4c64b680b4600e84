import * as fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { listMethods, type Endpoint } from "../../src/contract/endpoint.ts";
import { listEndpoints } from "../../src/contract/index.ts";
import { readProjectRows } from "../support/rows.ts";
import { createWorld, type CallInput, type Reply, type World } from "../support/world.ts";
import { openForAll, openForEach } from "../support/open-for.ts";

/** Tests that a project cannot read, change or detect records of another project. */

type OtherProject = {
  readonly id: string;
  readonly link: string;
  readonly ios_app: string;
  readonly android_app: string;
  readonly version: string;
  readonly key: string;
};

type Route = readonly [method: string, path: string, entry: Endpoint];

const routes = listEndpoints()
  .filter((entry) => entry.auth === "project")
  .flatMap((entry) => {
    // A HEAD response has no body to compare.
    const methods = listMethods(entry).filter((method) => method !== "HEAD");
    return methods.map((method): Route => [method, entry.path, entry]);
  });
const routesById = routes.filter(([, path]) => path.includes(":id"));
const lists = routes.filter(([, , entry]) => entry.list !== undefined);

const unknownId = "0190a000-0000-7000-8000-000000000000";
const theirs = { path: "sale", bundle_id: "com.other", package_name: "com.other.app" } as const;

let world: World;
let other: OtherProject;
let before: unknown;

async function enter(opened: World): Promise<void> {
  world = opened;
  other = await addOtherProject(world);
  before = await readAllRows(world, other.id);
}

async function expectUnchanged(): Promise<void> {
  world.advance(60_000);
  expect(await readAllRows(world, other.id)).toEqual(before);
}

describe("unknown IDs and paths", () => {
  let own: OwnRecords;
  openForAll(createWorld, async (opened) => {
    await enter(opened);
    own = await makeOwn(opened);
  });
  afterEach(expectUnchanged);

  test.each(routesById)(
    "cause the same response as another project's IDs: %s %s",
    async (method, path, entry) => {
      const foreign = fc.constantFrom<keyof OtherProject>(
        "id",
        "link",
        "ios_app",
        "android_app",
        "version",
      );
      await fc.assert(
        fc.asyncProperty(foreign, fc.uuid(), bodiesOf(entry), async (name, unknown, body) => {
          const given = entry.body === undefined ? {} : { body };
          const [known, stranger] = await both([other[name], unknown], (id) =>
            world.call(method, path.replace(":id", id), given),
          );
          expect(known).toEqual(stranger);
          expect(known?.status).toBeGreaterThanOrEqual(400);
        }),
        { numRuns: 10 },
      );
    },
  );

  test.each(routesById)(
    "cause the same response as known IDs if the same characters are appended: %s %s",
    async (method, path, entry) => {
      const kind = path.split("/")[1] as keyof OwnRecords;
      const body = entry.body === undefined ? {} : { body: { [entry.wrapper ?? "name"]: {} } };
      for (const more of ["%00", "%00x", "%20", "-", "x"]) {
        const [known, stranger] = await both([own[kind], unknownId], (id) =>
          world.call(method, path.replace(":id", id + more), body),
        );
        expect([more, known]).toEqual([more, stranger]);
      }
    },
  );

  test.each(["ios_app", "android_app"] as const)(
    "cause the same response as another project's IDs when sent as a link's %s",
    async (app) => {
      const links = (await world.call("GET", "/links")).body;
      for (const [method, path] of [
        ["POST", "/links"],
        ["POST", "/links/upsert"],
        ["PATCH", `/links/${own.links}`],
        ["PUT", `/links/${own.links}`],
      ] as const) {
        const [known, stranger] = await both([other[app], unknownId], (id) =>
          world.call(method, path, { body: { path: "mine", [app]: { id } } }),
        );
        expect(known).toEqual(stranger);
        expect(known?.status).toBe(422);
      }
      expect((await world.call("GET", "/links")).body).toEqual(links);
    },
  );

  test("cause the same response as another project's paths when a URL is shortened", async () => {
    const paths = [theirs.path, "nothing"];
    const [known, stranger] = await both(paths, (path) =>
      world.call("POST", "/short_links", { body: { url: `http://other.localhost:8787/${path}` } }),
    );
    expect(known?.status).toBe(201);
    expect(mask(known?.text).replace("/sale", "/nothing")).toEqual(mask(stranger?.text));
  });
});

describe("a bundle ID, package name or path that another project uses", () => {
  openForEach(createWorld, enter);
  afterEach(expectUnchanged);

  test("can also be used in the caller's project", async () => {
    for (const entry of ["/links", "/links/upsert"]) {
      const [known, stranger] = await both([theirs.path, "free"], (path) =>
        world.call("POST", entry, { body: { path } }),
      );
      expect(known?.status).toBe(201);
      expect(mask(known?.text)).toEqual(mask(stranger?.text));
      const { body } = await world.call("GET", "/links");
      for (const { id } of body.links) await world.call("DELETE", `/links/${id}`);
    }
    const ios_app = { bundle_id: theirs.bundle_id, team_id: "TEAM000002" };
    const android_app = { package_name: theirs.package_name, fingerprints: ["CC:DD"] };
    const link = await world.call("POST", "/links", { body: { ios_app, android_app } });
    expect(link.status, link.text).toBe(201);
    expect([other.ios_app, other.android_app]).not.toContain(link.body.ios_app_id);
    expect([other.ios_app, other.android_app]).not.toContain(link.body.android_app_id);
  });

  test("is not revealed by an incomplete app: an unused value causes the same error", async () => {
    for (const [app, name, known, unknown] of [
      ["ios_app", "bundle_id", theirs.bundle_id, "com.nobody"],
      ["android_app", "package_name", theirs.package_name, "com.nobody.app"],
    ] as const) {
      const replies = await both([known, unknown], (value) =>
        world.call("POST", "/links", { body: { [app]: { [name]: value } } }),
      );
      expect(replies[0]).toEqual(replies[1]);
      expect(replies[0]?.status).toBe(422);
    }
  });

  test("matches only the caller's own links when used as a filter", async () => {
    const ios_app = { bundle_id: theirs.bundle_id, team_id: "TEAM000002" };
    const android_app = { package_name: theirs.package_name, fingerprints: ["CC:DD"] };
    const { body } = await world.call("POST", "/links", { body: { ios_app, android_app } });
    for (const query of [
      `q[ios_app_bundle_id_eq]=${theirs.bundle_id}`,
      `q[android_app_package_name_eq]=${theirs.package_name}`,
    ]) {
      const own = await world.call("GET", "/links", { query });
      const others = await world.call("GET", "/links", { query, key: other.key });
      const found = [own, others].map((reply) =>
        reply.body.links.map((link: { id: string }) => link.id),
      );
      expect(found).toEqual([[body.id], [other.link]]);
    }
  });

  test("stays in the other project when the caller deletes its own app and link", async () => {
    const ios_app = { bundle_id: theirs.bundle_id, team_id: "TEAM000002" };
    const android_app = { package_name: theirs.package_name, fingerprints: ["CC:DD"] };
    const { body } = await world.call("POST", "/links", {
      body: { path: theirs.path, ios_app, android_app },
    });
    const changes = { ios_app: { bundle_id: "com.moved" } };
    await world.call("PATCH", `/ios_apps/${body.ios_app_id}`, { body: changes });
    for (const path of [`/ios_apps/${body.ios_app_id}`, `/android_apps/${body.android_app_id}`]) {
      expect((await world.call("DELETE", path)).status).toBe(204);
    }
    expect((await world.call("DELETE", `/links/${body.id}`)).status).toBe(204);
  });
});

describe("rows of another project", () => {
  openForAll(createWorld, async (opened) => {
    await enter(opened);
    await makeOwn(opened);
  });
  afterEach(expectUnchanged);

  test.each(lists)(
    "are never returned by %s %s, whatever the filters are",
    async (method, path, entry) => {
      const { name = "", filters = {} } = entry.list ?? {};
      const own = await world.call(method, path, { query: "limit=100" });
      const ids: string[] = own.body[name].map((row: { id: string }) => row.id);
      const query = fc.tuple(
        fc.constantFrom(...Object.keys(filters)),
        fc.constantFrom("eq", "not_eq", "cont", "start", "in", "gt", "gteq", "lt", "lteq", "null"),
        fc.constantFrom(
          theirs.path,
          theirs.bundle_id,
          theirs.package_name,
          "Other",
          "com",
          "1",
          "0",
        ),
        fc.constantFrom("", "&q[s]=name", "&q[s]=created_at+desc", "&page=2&limit=1"),
      );
      await fc.assert(
        fc.asyncProperty(query, async ([field, condition, value, rest]) => {
          const asked = `q[${field}_${condition}]=${value}${rest}`;
          const { status, body } = await world.call(method, path, { query: asked });
          expect(status).toBe(200);
          const found: string[] = body[name].map((row: { id: string }) => row.id);
          expect(ids).toEqual(expect.arrayContaining(found));
          expect(body.meta.count).toBeLessThanOrEqual(ids.length);
        }),
      );
    },
  );

  test.each(["eq", "not_eq", "cont", "start", "in", "null"])(
    "cannot be detected by filtering links by app with the condition %s",
    async (condition) => {
      for (const field of ["ios_app_bundle_id", "android_app_package_name"]) {
        const [known, stranger] = await both(["com.other", "com.nobody"], (value) =>
          world.call("GET", "/links", { query: `q[${field}_${condition}]=${value}` }),
        );
        expect(known).toEqual(stranger);
      }
    },
  );
});

const isOurs = ([, , { ours }]: Route) => ours === true;

describe("the field project_id in a request", () => {
  openForEach(createWorld, enter);
  afterEach(expectUnchanged);

  test.each(routes.filter(isOurs))("is rejected by %s %s", async (method, _, entry) => {
    const own = await makeOwn(world);
    const { status, text } = await ask(world, method, entry, own, other.id);
    const [error] = Object.values<string>(JSON.parse(text));
    expect([status, error]).toEqual([
      422,
      expect.stringContaining("Unknown parameter: project_id,"),
    ]);
  });

  test.each(routes.filter((route) => !isOurs(route)))(
    "is ignored by %s %s",
    async (method, _, entry) => {
      const told = [];
      await using plain = await createWorld();
      await addOtherProject(plain);
      for (const [given, sent] of [[plain], [world, other.id]] as const) {
        const own = await makeOwn(given);
        const reply = await ask(given, method, entry, own, sent);
        const { body } = await given.call("GET", "/links", { query: "q[s]=created_at" });
        // The Warning header lists it as ignored.
        const headers = [...reply.headers].filter(([name]) => name !== "warning");
        told.push({
          status: reply.status,
          headers: mask(JSON.stringify(headers)),
          text: mask(reply.text),
          links: mask(JSON.stringify(body)),
        });
      }
      expect(told[1]).toEqual(told[0]);
      expect(told[0]?.status).toBeLessThan(300);
    },
  );
});

type OwnRecords = Readonly<Record<"links" | "ios_apps" | "android_apps" | "page_template", string>>;

/** Sends a valid request with a project ID in every possible place. */
function ask(
  { call }: World,
  method: string,
  entry: Endpoint,
  own: OwnRecords,
  project_id: string | undefined,
): Promise<Reply> {
  const [, list = ""] = entry.path.split("/");
  const id = list in own ? own[list as keyof OwnRecords] : "";
  const smuggled = project_id === undefined ? {} : { project_id, project: { id: project_id } };
  const fields: Readonly<Record<string, object>> = {
    links: { path: theirs.path, name: "Given" },
    short_links: { url: "https://example.com/long" },
    ios_apps: { bundle_id: "com.given", team_id: "TEAM000003" },
    android_apps: { package_name: "com.given.app", fingerprints: ["EE:FF"] },
    page_template: { body: "<h1>Given</h1>{% store_buttons %}" },
  };
  const inner = { ...fields[list], ...smuggled };
  const body = entry.wrapper === undefined ? inner : { [entry.wrapper]: inner, ...smuggled };
  const given: CallInput = {
    ...(entry.body !== undefined && { body }),
    ...(project_id !== undefined && {
      query: `project_id=${project_id}&q[project_id_eq]=${project_id}`,
    }),
  };
  return call(method, entry.path.replace(":id", id), given);
}

async function makeOwn(given: World): Promise<OwnRecords> {
  given.advance(1);
  const { body } = await given.call("POST", "/links", {
    body: {
      name: "Own",
      path: "own",
      ios_app: { bundle_id: "com.own", team_id: "TEAM000001" },
      android_app: { package_name: "com.own.app", fingerprints: ["AA:BB"] },
    },
  });
  const page_template = await publishPage(given, given.key);
  given.advance(1);
  const { id: links, ios_app_id: ios_apps, android_app_id: android_apps } = body;
  return { links, ios_apps, android_apps, page_template };
}

async function publishPage({ call }: World, key: string): Promise<string> {
  const body = { body: "<h1>{{ project.name }}</h1>{% store_buttons %}", css: "h1{top:0}" };
  const reply = await call("POST", "/page_template/publish", { key, body });
  expect(reply.status, reply.text).toBe(200);
  return reply.body.live_version.id;
}

async function addOtherProject(given: World): Promise<OtherProject> {
  const project = await given.addProject({ name: "Other", subdomain: "other" });
  const key = await given.addKey({ project });
  const { bundle_id, package_name } = theirs;
  const reply = await given.call("POST", "/links", {
    key,
    body: {
      name: "Other",
      path: theirs.path,
      ios_app: { bundle_id, team_id: "TEAM000009" },
      android_app: { package_name, fingerprints: ["AA:BB"] },
      options: { shorten: true },
    },
  });
  expect(reply.status, reply.text).toBe(201);
  const { id: link, ios_app_id: ios_app, android_app_id: android_app } = reply.body;
  const version = await publishPage(given, key);
  return { id: project.id, link, ios_app, android_app, version, key };
}

async function readAllRows({ store }: World, projectId: string): Promise<unknown> {
  const project = store.db.selectFrom("projects").selectAll().where("id", "=", projectId);
  return [await project.execute(), await readProjectRows(store, projectId)];
}

async function both(
  values: readonly string[],
  act: (value: string) => Promise<Reply>,
): Promise<ReturnType<typeof show>[]> {
  const replies = [];
  for (const value of values) replies.push(show(await act(value)));
  return replies;
}

function show({ status, headers, text }: Reply) {
  return { status, headers: [...headers], text };
}

/** Masks IDs, nonces and generated paths, which differ each time. */
function mask(text = ""): string {
  return text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "an id")
    .replace(/nonce(-|=\\?")[\w-]{22}/g, "nonce$1a nonce")
    .replace(/"(path|shortened_path)":"[^"]*"/g, '"$1":"a path"');
}

/** Generates valid and invalid bodies. Neither response may reveal which rows exist. */
function bodiesOf(entry: Endpoint): fc.Arbitrary<unknown> {
  const text = fc.constantFrom("x", "", "com.other", "sale", "TEAM000001", "javascript:alert(1)");
  const value = fc.oneof(text, fc.constantFrom<unknown>(null, 1, ["AA:BB"], { id: unknownId }, {}));
  const field = fc.constantFrom(...Object.keys(entry.body?.shape ?? { name: true }));
  const fields = fc.dictionary(field, value, { maxKeys: 4 });
  const wrapper = entry.wrapper;
  const good = wrapper === undefined ? fields : fields.map((inner) => ({ [wrapper]: inner }));
  return fc.oneof({ weight: 8, arbitrary: good }, fc.constantFrom("{", "[]", "null", "{}"));
}
