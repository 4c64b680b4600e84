import { expect, test } from "vitest";
import { createWorld, type World } from "../support/world.ts";

/** api-spec.md, "Android app", "Android apps" and the messages of their validation. */

const unknownId = "0190a000-0000-7000-8000-000000000000";
const sha256 = Array.from({ length: 32 }, (_, index) => (index + 160).toString(16)).join(":");
const app = { package_name: "com.example.app", fingerprints: ["AA:BB:0C"] } as const;

async function register(world: World, fields: object = {}) {
  const body = { android_app: { ...app, ...fields } };
  const reply = await world.call("POST", "/android_apps", { body });
  expect(reply.status, reply.text).toBe(201);
  return reply.body;
}

test("an Android app is registered, read, listed, changed and deleted", async () => {
  await using world = await createWorld();
  const fields = { ...app, name: "Example", custom_scheme: "example" };
  const made = await register(world, fields);
  expect(made).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), ...fields });

  const shown = await world.call("GET", `/android_apps/${made.id}`);
  expect([shown.status, shown.body]).toEqual([200, made]);
  const listed = await world.call("GET", "/android_apps");
  expect([listed.status, listed.body.android_apps]).toEqual([200, [made]]);
  expect(listed.body.meta).toMatchObject({ page: 1, limit: 20, count: 1 });

  for (const method of ["PATCH", "PUT"]) {
    const body = { android_app: { name: method } };
    const changed = await world.call(method, `/android_apps/${made.id}`, { body });
    expect([changed.status, changed.body]).toEqual([200, { ...made, name: method }]);
  }
  const deleted = await world.call("DELETE", `/android_apps/${made.id}`);
  expect([deleted.status, deleted.text]).toEqual([204, ""]);
  expect((await world.call("GET", "/android_apps")).body.android_apps).toEqual([]);
});

test("the fields that are not required are null until they are given", async () => {
  await using world = await createWorld();
  const made = await register(world);
  expect(made).toEqual({ id: made.id, ...app, name: null, custom_scheme: null });
});

test.each(["GET", "PATCH", "PUT", "DELETE"])("%s of an unknown id is a 404", async (method) => {
  await using world = await createWorld();
  const made = await register(world);
  for (const id of [unknownId, app.package_name, "1"]) {
    const body = method.startsWith("P") ? { android_app: { name: "new" } } : undefined;
    const reply = await world.call(method, `/android_apps/${id}`, { body });
    expect([reply.status, reply.body]).toEqual([404, { error: "Android app not found" }]);
  }
  expect((await world.call("GET", `/android_apps/${made.id}`)).body).toEqual(made);
});

const missingWrapper = { error: "Required parameter is missing: android_app." };

test.each([{}, app, { android_app: null }, { android_app: [] }, { ios_app: app }])(
  "the wrapper android_app must be there: %j",
  async (body) => {
    await using world = await createWorld();
    const { id } = await register(world);
    for (const [method, path] of [
      ["POST", "/android_apps"],
      ["PATCH", `/android_apps/${id}`],
      ["PUT", `/android_apps/${id}`],
    ] as const) {
      const reply = await world.call(method, path, { body });
      expect([method, reply.status, reply.body]).toEqual([method, 400, missingWrapper]);
    }
  },
);

const noName = "Package name is invalid and Package name can't be blank";
const noPrint = "Fingerprints can't be blank";
const badPrint = "Fingerprints is invalid";
const refusals = [
  [{ package_name: null }, noName],
  [{ package_name: "" }, noName],
  [{ package_name: " " }, noName],
  [{ package_name: "example" }, "Package name is invalid"],
  [{ package_name: "com.1example" }, "Package name is invalid"],
  [{ package_name: "1com.example" }, "Package name is invalid"],
  [{ package_name: "com._example" }, "Package name is invalid"],
  [{ package_name: "com.exam-ple" }, "Package name is invalid"],
  [{ package_name: "com..example" }, "Package name is invalid"],
  [{ package_name: "com.example." }, "Package name is invalid"],
  [{ package_name: "com.example\n" }, "Package name is invalid"],
  [{ package_name: "com.exämple" }, "Package name is invalid"],
  [{ fingerprints: null }, noPrint],
  [{ fingerprints: [] }, noPrint],
  [{ fingerprints: ["", "  "] }, noPrint],
  [{ fingerprints: ["AABBCC"] }, badPrint],
  [{ fingerprints: ["AA"] }, badPrint],
  [{ fingerprints: ["AA:B"] }, badPrint],
  [{ fingerprints: ["AA:GG"] }, badPrint],
  [{ fingerprints: ["AA:BB:"] }, badPrint],
  [{ fingerprints: [":AA:BB"] }, badPrint],
  [{ fingerprints: ["AA BB"] }, badPrint],
  [{ fingerprints: ["AA:BB", "nonsense"] }, badPrint],
  [{ custom_scheme: "no scheme" }, "Custom scheme is invalid"],
  [{ custom_scheme: "javascript://" }, "Custom scheme is invalid"],
  [{ custom_scheme: "JAVAscript" }, "Custom scheme is invalid"],
  [{ name: "n".repeat(501) }, "Name is invalid"],
  [{ name: "\0" }, "Name is invalid"],
  [{ name: "\udf00 shop" }, "Name is invalid"],
  [{ package_name: "", fingerprints: [] }, noName.replace(" and ", ", ") + `, and ${noPrint}`],
  [{ package_name: "a", fingerprints: ["b"] }, `Package name is invalid and ${badPrint}`],
  [{ fingerprints: "AA:BB" }, "Fingerprints must be a list of strings"],
  [{ fingerprints: [1] }, "Fingerprints must be a string"],
  [{ package_name: 1 }, "Package name must be a string"],
] as const;

test.each(refusals)("an Android app with %j is refused on creation and change", async (...row) => {
  const [fields, error] = row;
  await using world = await createWorld();
  const other = await register(world, { package_name: "com.example.other" });
  for (const [method, path] of [
    ["POST", "/android_apps"],
    ["PATCH", `/android_apps/${other.id}`],
    ["PUT", `/android_apps/${other.id}`],
  ] as const) {
    const given = method === "POST" ? { ...app, ...fields } : fields;
    const reply = await world.call(method, path, { body: { android_app: given } });
    expect([method, reply.status, reply.body]).toEqual([method, 422, { error }]);
  }
  expect((await world.call("GET", "/android_apps")).body.android_apps).toEqual([other]);
});

test("a package name is unique within its project, and only there", async () => {
  await using world = await createWorld();
  const made = await register(world);
  const other = await register(world, { package_name: "com.example.other" });
  const error = "Package name has already been taken";
  const again = await world.call("POST", "/android_apps", { body: { android_app: app } });
  expect([again.status, again.body]).toEqual([422, { error }]);
  const body = { android_app: { package_name: app.package_name } };
  const moved = await world.call("PATCH", `/android_apps/${other.id}`, { body });
  expect([moved.status, moved.body]).toEqual([422, { error }]);
  const same = await world.call("PATCH", `/android_apps/${made.id}`, { body });
  expect([same.status, same.body]).toEqual([200, made]);

  const key = await world.addKey({ project: await world.addProject() });
  const elsewhere = await world.call("POST", "/android_apps", { key, body: { android_app: app } });
  expect(elsewhere.status).toBe(201);
  await world.call("DELETE", `/android_apps/${made.id}`);
  await register(world);
});

test("of two registrations of one package name at the same time, one is refused", async () => {
  await using world = await createWorld();
  const given = { body: { android_app: app } };
  const replies = await Promise.all([1, 2].map(() => world.call("POST", "/android_apps", given)));
  expect(replies.map((reply) => reply.status).toSorted((a, b) => a - b)).toEqual([201, 422]);
});

const normalForms = [
  ["package_name", "com.Example_1.x2", "com.Example_1.x2"],
  ["fingerprints", [sha256], [sha256.toUpperCase()]],
  ["fingerprints", ["aa:bb", "", "  ", "0f:1E"], ["AA:BB", "0F:1E"]],
  ["fingerprints", [" aa:bb "], ["AA:BB"]],
  ["custom_scheme", "example://", "example"],
  ["custom_scheme", "", null],
  ["name", "", null],
] as const;

test.each(normalForms)("%s %j is kept as %j", async (field, given, kept) => {
  await using world = await createWorld();
  const made = await register(world, { [field]: given });
  expect(made[field]).toEqual(kept);
  for (const changes of [{ [field]: given }, made]) {
    const body = { android_app: changes };
    const changed = await world.call("PATCH", `/android_apps/${made.id}`, { body });
    expect([changed.status, changed.body]).toEqual([200, made]);
  }
});

test("new fingerprints replace the whole list, and are kept when they are not sent", async () => {
  await using world = await createWorld();
  const made = await register(world, { fingerprints: ["AA:BB", "CC:DD"] });
  const body = { android_app: { fingerprints: ["ee:ff"] } };
  const changed = await world.call("PATCH", `/android_apps/${made.id}`, { body });
  expect(changed.body).toEqual({ ...made, fingerprints: ["EE:FF"] });
  const name = { android_app: { name: "Example" } };
  const renamed = await world.call("PATCH", `/android_apps/${made.id}`, { body: name });
  expect(renamed.body.fingerprints).toEqual(["EE:FF"]);
});
