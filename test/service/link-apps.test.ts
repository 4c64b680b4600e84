import { expect, test } from "vitest";
import { createWorld, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests selecting, creating and removing the apps of a link. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const unknownId = "0190a000-0000-7000-8000-000000000000";

const ios = {
  field: "ios_app",
  list: "ios_apps",
  column: "ios_app_id",
  identifier: "bundle_id",
  app: { bundle_id: "com.example.app", team_id: "ABCDE12345" },
  onTheFly: { bundle_id: "com.example.fly", team_id: "ABCDE12345", app_store_id: "id 12-34" },
  stored: { bundle_id: "com.example.fly", team_id: "ABCDE12345", app_store_id: "1234" },
  incomplete: "Team is the wrong length (should be 10 characters)",
  invalid: { bundle_id: "com example", team_id: "short" },
  problems: "Bundle is invalid and Team is the wrong length (should be 10 characters)",
  notFound: "iOS app not found",
  choice: "Ios app needs exactly one of id or bundle_id",
} as const;

const android = {
  field: "android_app",
  list: "android_apps",
  column: "android_app_id",
  identifier: "package_name",
  app: { package_name: "com.example.app", fingerprints: ["AA:BB"] },
  onTheFly: { package_name: "com.example.fly", fingerprints: ["aa:0b", ""] },
  stored: { package_name: "com.example.fly", fingerprints: ["AA:0B"] },
  incomplete: "Fingerprints can't be blank",
  invalid: { package_name: "example", fingerprints: ["AABB"] },
  problems: "Package name is invalid and Fingerprints is invalid",
  notFound: "Android app not found",
  choice: "Android app needs exactly one of id or package_name",
} as const;

type Platform = typeof ios | typeof android;

const platforms: readonly (readonly [string, Platform])[] = [
  ["ios_app", ios],
  ["android_app", android],
];

async function register(world: World, { field, list, app }: Platform) {
  const reply = await world.call("POST", `/${list}`, { body: { [field]: app } });
  expect(reply.status, reply.text).toBe(201);
  return reply.body;
}

async function listApps(world: World, { list }: Platform) {
  return (await world.call("GET", `/${list}`)).body[list];
}

function listWays(id: string) {
  return [
    ["POST", "/links", {}],
    ["POST", "/links/upsert", { path: "new" }],
    ["POST", "/links/upsert", { path: "kept" }],
    ["PATCH", `/links/${id}`, {}],
    ["PUT", `/links/${id}`, {}],
  ] as const;
}

for (const [name, platform] of platforms) {
  const { field, column, identifier, app, onTheFly } = platform;

  test(`${name} selects an app by its ID or its ${identifier}`, async () => {
    const { id } = await register(world, platform);
    const kept = (await world.call("POST", "/links", { body: { path: "kept" } })).body;
    for (const [method, path, rest] of listWays(kept.id)) {
      for (const choice of [{ id }, { [identifier]: Object.values(app)[0] }]) {
        await world.call("PATCH", `/links/${kept.id}`, { body: { [field]: null } });
        const reply = await world.call(method, path, { body: { ...rest, [field]: choice } });
        expect([path, reply.body[column]]).toEqual([path, id]);
      }
    }
    expect(await listApps(world, platform)).toHaveLength(1);
  });

  test(`${name} requires either id or ${identifier}`, async () => {
    const { id } = await register(world, platform);
    const body = { path: "kept", [field]: { id } };
    const kept = (await world.call("POST", "/links", { body })).body;
    const both = { id, [identifier]: Object.values(app)[0] };
    for (const [method, path, rest] of listWays(kept.id)) {
      for (const choice of [{}, both, { id: "", [identifier]: null }]) {
        const reply = await world.call(method, path, { body: { ...rest, [field]: choice } });
        expect([reply.status, reply.body]).toEqual([422, { error: platform.choice }]);
      }
    }
    expect((await world.call("GET", "/links")).body.links).toEqual([kept]);
  });

  test(`${name} rejects another project's app ID with the message for an unknown ID`, async () => {
    const stranger = await world.addKey({ project: await world.addProject() });
    const { id } = await register(world, platform);
    for (const foreign of [unknownId, id]) {
      const body = { [field]: { id: foreign } };
      const reply = await world.call("POST", "/links", { key: stranger, body });
      expect([reply.status, reply.body]).toEqual([422, { error: platform.notFound }]);
    }
  });

  test(`${name} creates the app only once, whichever endpoint writes the link`, async () => {
    const kept = (await world.call("POST", "/links", { body: { path: "kept" } })).body;
    for (const [method, path, rest] of listWays(kept.id)) {
      const reply = await world.call(method, path, { body: { ...rest, [field]: onTheFly } });
      const apps = await listApps(world, platform);
      expect(apps).toMatchObject([platform.stored]);
      expect([path, reply.body[column]]).toEqual([path, apps[0].id]);
    }
  });

  test.each(["POST", "PATCH", "PUT"])(
    `${name} creates no app if the %s request for the link fails`,
    async (method) => {
      await world.call("POST", "/links", { body: { path: "taken" } });
      const kept = (await world.call("POST", "/links", { body: { path: "kept" } })).body;
      const path = method === "POST" ? "/links" : `/links/${kept.id}`;
      const other = platform === ios ? android : ios;
      const failures = [
        [{ path: "taken" }, "Path has already been taken"],
        [{ url: "javascript:1" }, "Url must be an http or https address"],
        [{ [other.field]: other.invalid }, other.problems],
        [{ [other.field]: { id: unknownId } }, other.notFound],
      ] as const;
      for (const [wrong, error] of failures) {
        const body = { [field]: onTheFly, ...wrong };
        const reply = await world.call(method, path, { body });
        expect([reply.status, reply.body]).toEqual([422, { error }]);
        expect(await listApps(world, platform)).toEqual([]);
      }
      expect((await world.call("GET", `/links/${kept.id}`)).body).toEqual(kept);
    },
  );

  test(`${name} rejects the same fields as the endpoint that registers apps`, async () => {
    const alone = { [identifier]: "com.example.alone" };
    for (const [given, error] of [
      [alone, platform.incomplete],
      [platform.invalid, platform.problems],
    ] as const) {
      const reply = await world.call("POST", "/links", { body: { [field]: given } });
      expect([reply.status, reply.body]).toEqual([422, { error }]);
    }
    expect(await listApps(world, platform)).toEqual([]);
    expect((await world.call("GET", "/links")).body.links).toEqual([]);
  });

  test(`${name} removes the link's app when sent as null and keeps it when omitted`, async () => {
    const { id } = await register(world, platform);
    const link = (await world.call("POST", "/links", { body: { [field]: { id } } })).body;
    const renamed = await world.call("PATCH", `/links/${link.id}`, { body: { name: "new" } });
    expect(renamed.body[column]).toBe(id);
    const detached = await world.call("PATCH", `/links/${link.id}`, { body: { [field]: null } });
    expect(detached.body[column]).toBeNull();
    expect(await listApps(world, platform)).toHaveLength(1);
  });

  test(`deleting an ${name} keeps the links that used it`, async () => {
    const { id } = await register(world, platform);
    const fly = { [field]: onTheFly };
    const gone = (await world.call("POST", "/links", { body: { [field]: { id } } })).body;
    const stays = (await world.call("POST", "/links", { body: fly })).body;
    expect((await world.call("DELETE", `/${platform.list}/${id}`)).status).toBe(204);

    const shown = await world.call("GET", `/links/${gone.id}`);
    expect([shown.status, shown.body]).toEqual([200, { ...gone, [column]: null }]);
    expect((await world.call("GET", `/links/${stays.id}`)).body).toEqual(stays);
    const again = await register(world, platform);
    const body = { [field]: { id: again.id } };
    const assigned = await world.call("PATCH", `/links/${gone.id}`, { body });
    expect(assigned.body[column]).toBe(again.id);
  });
}

test("a link can be created together with a new iOS app and a new Android app", async () => {
  const body = { ios_app: ios.onTheFly, android_app: android.onTheFly };
  const link = (await world.call("POST", "/links", { body })).body;
  expect([await listApps(world, ios), await listApps(world, android)]).toMatchObject([
    [{ id: link.ios_app_id }],
    [{ id: link.android_app_id }],
  ]);
});
