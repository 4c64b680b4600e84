import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createWorld, type World } from "../support/world.ts";

/** api-spec.md, "iOS app", "iOS apps" and the messages of their validation. */

const unknownId = "0190a000-0000-7000-8000-000000000000";
const app = { bundle_id: "com.example.app", team_id: "ABCDE12345" } as const;
const wrongTeam = "Team is the wrong length (should be 10 characters)";

async function register(world: World, fields: object = {}) {
  const body = { ios_app: { ...app, ...fields } };
  const reply = await world.call("POST", "/ios_apps", { body });
  expect(reply.status, reply.text).toBe(201);
  return reply.body;
}

test("an iOS app is registered, read, listed, changed and deleted", async () => {
  await using world = await createWorld();
  const fields = {
    ...app,
    app_store_id: "1234567890",
    name: "Example",
    clip_bundle_id: "com.example.app.Clip",
    custom_scheme: "example",
  };
  const made = await register(world, fields);
  expect(made).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), ...fields });

  const shown = await world.call("GET", `/ios_apps/${made.id}`);
  expect([shown.status, shown.body]).toEqual([200, made]);
  const listed = await world.call("GET", "/ios_apps");
  expect([listed.status, listed.body.ios_apps]).toEqual([200, [made]]);
  expect(listed.body.meta).toMatchObject({ page: 1, limit: 20, count: 1 });

  for (const method of ["PATCH", "PUT"]) {
    const body = { ios_app: { name: method } };
    const changed = await world.call(method, `/ios_apps/${made.id}`, { body });
    expect([changed.status, changed.body]).toEqual([200, { ...made, name: method }]);
  }
  const deleted = await world.call("DELETE", `/ios_apps/${made.id}`);
  expect([deleted.status, deleted.text]).toEqual([204, ""]);
  expect((await world.call("GET", "/ios_apps")).body.ios_apps).toEqual([]);
});

test("the fields that are not required are null until they are given", async () => {
  await using world = await createWorld();
  const optional = { app_store_id: null, name: null, clip_bundle_id: null, custom_scheme: null };
  const made = await register(world);
  expect(made).toEqual({ id: made.id, ...app, ...optional });
});

test.each(["GET", "PATCH", "PUT", "DELETE"])("%s of an unknown id is a 404", async (method) => {
  await using world = await createWorld();
  const made = await register(world);
  for (const id of [unknownId, app.bundle_id, "1"]) {
    const body = method.startsWith("P") ? { ios_app: { name: "new" } } : undefined;
    const reply = await world.call(method, `/ios_apps/${id}`, { body });
    expect([reply.status, reply.body]).toEqual([404, { error: "iOS app not found" }]);
  }
  expect((await world.call("GET", `/ios_apps/${made.id}`)).body).toEqual(made);
});

const missingWrapper = { error: "Required parameter is missing: ios_app." };

test.each([{}, app, { ios_app: null }, { ios_app: [] }, { ios_app: "x" }, { android_app: app }])(
  "the wrapper ios_app must be there: %j",
  async (body) => {
    await using world = await createWorld();
    const { id } = await register(world);
    for (const [method, path] of [
      ["POST", "/ios_apps"],
      ["PATCH", `/ios_apps/${id}`],
      ["PUT", `/ios_apps/${id}`],
    ] as const) {
      const reply = await world.call(method, path, { body });
      expect([method, reply.status, reply.body]).toEqual([method, 400, missingWrapper]);
    }
  },
);

const long = `a.${"b".repeat(500)}`;
const refusals = [
  [{ bundle_id: null }, "Bundle is invalid and Bundle can't be blank"],
  [{ bundle_id: "" }, "Bundle is invalid and Bundle can't be blank"],
  [{ bundle_id: "  " }, "Bundle is invalid and Bundle can't be blank"],
  [{ bundle_id: "com example" }, "Bundle is invalid"],
  [{ bundle_id: "com_example.app" }, "Bundle is invalid"],
  [{ bundle_id: ".com.example" }, "Bundle is invalid"],
  [{ bundle_id: "com..example" }, "Bundle is invalid"],
  [{ bundle_id: "com.example." }, "Bundle is invalid"],
  [{ bundle_id: "com.exämple" }, "Bundle is invalid"],
  [{ bundle_id: "com.example\n" }, "Bundle is invalid"],
  [{ bundle_id: "com.example/../x" }, "Bundle is invalid"],
  [{ bundle_id: long }, "Bundle is invalid"],
  [{ team_id: null }, wrongTeam],
  [{ team_id: "" }, wrongTeam],
  [{ team_id: "ABCDE1234" }, wrongTeam],
  [{ team_id: "ABCDE123456" }, wrongTeam],
  [{ clip_bundle_id: "not a bundle" }, "Clip bundle is invalid"],
  [{ custom_scheme: "no scheme" }, "Custom scheme is invalid"],
  [{ custom_scheme: "javascript" }, "Custom scheme is invalid"],
  [{ custom_scheme: "JavaScript" }, "Custom scheme is invalid"],
  [{ custom_scheme: "data://" }, "Custom scheme is invalid"],
  [{ custom_scheme: "vbscript" }, "Custom scheme is invalid"],
  [{ custom_scheme: "file" }, "Custom scheme is invalid"],
  [{ custom_scheme: "filesystem" }, "Custom scheme is invalid"],
  [{ custom_scheme: "Blob://" }, "Custom scheme is invalid"],
  [{ custom_scheme: "about" }, "Custom scheme is invalid"],
  [{ custom_scheme: "http" }, "Custom scheme is invalid"],
  [{ custom_scheme: "HTTPS" }, "Custom scheme is invalid"],
  [{ name: "n".repeat(501) }, "Name is invalid"],
  [{ name: "Shop\0" }, "Name is invalid"],
  [{ name: "Shop \ud83c" }, "Name is invalid"],
  [
    { bundle_id: "", team_id: "short" },
    "Bundle is invalid, Bundle can't be blank, and " + wrongTeam,
  ],
  [
    { bundle_id: "a b", team_id: "", clip_bundle_id: "c d" },
    `Bundle is invalid, ${wrongTeam}, and Clip bundle is invalid`,
  ],
  [{ bundle_id: 1, team_id: [] }, "Bundle must be a string and Team must be a string"],
] as const;

test.each(refusals)("an iOS app with %j is refused on creation and change", async (...row) => {
  const [fields, error] = row;
  await using world = await createWorld();
  const other = await register(world, { bundle_id: "com.example.other" });
  for (const [method, path] of [
    ["PATCH", `/ios_apps/${other.id}`],
    ["PUT", `/ios_apps/${other.id}`],
    ["POST", "/ios_apps"],
  ] as const) {
    const given = method === "POST" ? { ...app, ...fields } : fields;
    const reply = await world.call(method, path, { body: { ios_app: given } });
    expect([method, reply.status, reply.body]).toEqual([method, 422, { error }]);
  }
  expect((await world.call("GET", "/ios_apps")).body.ios_apps).toEqual([other]);
});

test("a registration without any field names all that is missing", async () => {
  await using world = await createWorld();
  const reply = await world.call("POST", "/ios_apps", { body: { ios_app: {} } });
  expect(reply.status).toBe(422);
  expect(reply.body).toEqual({
    error: `Bundle is invalid, Bundle can't be blank, and ${wrongTeam}`,
  });
});

test("a bundle id is unique within its project, and only there", async () => {
  await using world = await createWorld();
  const made = await register(world);
  const other = await register(world, { bundle_id: "com.example.other" });
  const error = "Bundle has already been taken";
  const again = await world.call("POST", "/ios_apps", { body: { ios_app: app } });
  expect([again.status, again.body]).toEqual([422, { error }]);
  const short = { ...app, team_id: "short" };
  const twice = await world.call("POST", "/ios_apps", { body: { ios_app: short } });
  expect(twice.body).toEqual({ error: `${error} and ${wrongTeam}` });
  const body = { ios_app: { bundle_id: app.bundle_id } };
  const moved = await world.call("PATCH", `/ios_apps/${other.id}`, { body });
  expect([moved.status, moved.body]).toEqual([422, { error }]);
  const same = await world.call("PATCH", `/ios_apps/${made.id}`, { body });
  expect([same.status, same.body]).toEqual([200, made]);

  const key = await world.addKey({ project: await world.addProject() });
  const elsewhere = await world.call("POST", "/ios_apps", { key, body: { ios_app: app } });
  expect(elsewhere.status).toBe(201);
  await world.call("DELETE", `/ios_apps/${made.id}`);
  await register(world);
});

test("of two registrations of one bundle id at the same time, one is refused", async () => {
  await using world = await createWorld();
  const given = { body: { ios_app: app } };
  const replies = await Promise.all([1, 2].map(() => world.call("POST", "/ios_apps", given)));
  expect(replies.map((reply) => reply.status).toSorted((a, b) => a - b)).toEqual([201, 422]);
});

const normalForms = [
  ["app_store_id", "id1234567890", "1234567890"],
  ["app_store_id", " 12-34 ", "1234"],
  ["app_store_id", "none", null],
  ["clip_bundle_id", "ABCDE12345.com.example.clip", "com.example.clip"],
  ["clip_bundle_id", "ZZZZZ99999.com.example.clip", "com.example.clip"],
  ["clip_bundle_id", "com.example.clip", "com.example.clip"],
  ["clip_bundle_id", "", null],
  ["custom_scheme", "example://", "example"],
  ["custom_scheme", "example", "example"],
  ["custom_scheme", "ex-ample.1+2://", "ex-ample.1+2"],
  ["custom_scheme", "", null],
  ["custom_scheme", "://", null],
  ["name", "", null],
  ["name", "Été 漢字", "Été 漢字"],
] as const;

test.each(normalForms)("%s %j is kept as %j", async (field, given, kept) => {
  await using world = await createWorld();
  const made = await register(world, { [field]: given });
  expect(made[field]).toBe(kept);
  const body = { ios_app: { [field]: given } };
  const changed = await world.call("PATCH", `/ios_apps/${made.id}`, { body });
  expect([changed.status, changed.body]).toEqual([200, made]);
});

test("an optional field is cleared by null", async () => {
  await using world = await createWorld();
  const cleared = { app_store_id: null, name: null, clip_bundle_id: null, custom_scheme: null };
  const made = await register(world, {
    app_store_id: "1",
    name: "Example",
    clip_bundle_id: "com.example.clip",
    custom_scheme: "example",
  });
  const changed = await world.call("PATCH", `/ios_apps/${made.id}`, { body: { ios_app: cleared } });
  expect(changed.body).toEqual({ ...made, ...cleared });
});

test("what was read of an iOS app can be written back, and another change leaves it", async () => {
  await using world = await createWorld();
  const segment = fc.constantFrom("com", "ABCDE12345", "abcdefghij", "Clip-1", "ZZZZZ99999");
  const bundle = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("."));
  const fields = fc.record({
    bundle_id: bundle,
    team_id: fc.constantFrom("ABCDE12345", "abcdefghij", "1234567890"),
    app_store_id: fc.string({ maxLength: 8 }),
    name: fc.string({ unit: "grapheme", maxLength: 8 }),
    clip_bundle_id: bundle,
    custom_scheme: fc.constantFrom("a", "a://", "b-c://", ""),
  });
  const run = async (given: object) => {
    world.advance(60_000);
    const made = await register(world, given);
    for (const changes of [made, { name: made.name }, {}]) {
      const body = { ios_app: changes };
      const changed = await world.call("PATCH", `/ios_apps/${made.id}`, { body });
      expect([changed.status, changed.body]).toEqual([200, made]);
    }
    await world.call("DELETE", `/ios_apps/${made.id}`);
  };
  const twoTeams = "ABCDE12345.ZZZZZ99999.com.example.clip";
  const examples: [object][] = [[{ clip_bundle_id: twoTeams }]];
  await fc.assert(fc.asyncProperty<[object]>(fields, run), { numRuns: 200, examples });
});
