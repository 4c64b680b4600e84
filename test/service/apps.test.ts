import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createWorld, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests registering, changing and deleting apps, and their validation messages. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

type Kind = {
  readonly label: string;
  readonly name: "ios_app" | "android_app";
  /** The field that is unique within a project, and its label in messages. */
  readonly key: string;
  readonly keyLabel: string;
  readonly app: Readonly<Record<string, unknown>>;
  readonly optional: Readonly<Record<string, string>>;
  readonly notWrapped: readonly unknown[];
  readonly refusals: readonly (readonly [fields: object, error: string])[];
  readonly forms: readonly (readonly [field: string, given: unknown, kept: unknown])[];
};

const unknownId = "0190a000-0000-7000-8000-000000000000";
const sha256 = Array.from({ length: 32 }, (_, index) => (index + 160).toString(16)).join(":");
const iosApp = { bundle_id: "com.example.app", team_id: "ABCDE12345" } as const;
const androidApp = { package_name: "com.example.app", fingerprints: ["AA:BB:0C"] } as const;
const wrongTeam = "Team is the wrong length (should be 10 characters)";

/** URL schemes that belong to a browser, a store or an operating system. */
const systemSchemes =
  "http HTTPS x-safari-https X-Safari-HTTP intent Intent:// android-app itms itmss itms-services " +
  "itms-apps ITMS-APPSS:// market market:// tel SMS:// mailto view-source file filesystem " +
  "javascript JavaScript data:// vbscript about Blob:// search-ms ms-settings MS-word " +
  "ms- chrome googlechrome firefox microsoft-edge telprompt facetime smsto app-settings " +
  "content ftp";
const schemeRefusals = ["no scheme", ...systemSchemes.split(" ")].map((custom_scheme) => {
  return [{ custom_scheme }, "Custom scheme is invalid"] as const;
});
/** URL schemes of apps that look like schemes of the operating system. */
const appSchemes = ["msteams", "marketplace", "telegram", "itmsy", "x-shop", "fileshop"];
const schemeForms = appSchemes.map((scheme) => ["custom_scheme", scheme, scheme] as const);

const long = `a.${"b".repeat(500)}`;
const iosRefusals = [
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
  ...schemeRefusals,
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
  [{ bundle_id: {}, team_id: [] }, "Bundle must be a string and Team must be a string"],
] as const;

const noName = "Package name is invalid and Package name can't be blank";
const noFingerprint = "Fingerprints can't be blank";
const invalidFingerprint = "Fingerprints is invalid";
const longFingerprint = "Fingerprints has an entry that is too long (maximum is 128 characters)";
const androidRefusals = [
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
  [{ fingerprints: null }, noFingerprint],
  [{ fingerprints: [] }, noFingerprint],
  [{ fingerprints: ["", "  "] }, noFingerprint],
  [{ fingerprints: ["AABBCC"] }, invalidFingerprint],
  [{ fingerprints: ["AA"] }, invalidFingerprint],
  [{ fingerprints: ["AA:B"] }, invalidFingerprint],
  [{ fingerprints: ["AA:GG"] }, invalidFingerprint],
  [{ fingerprints: ["AA:BB:"] }, invalidFingerprint],
  [{ fingerprints: [":AA:BB"] }, invalidFingerprint],
  [{ fingerprints: ["AA BB"] }, invalidFingerprint],
  [{ fingerprints: ["AA:BB", "nonsense"] }, invalidFingerprint],
  [
    { fingerprints: ["AA:BB", `${"AA:".repeat(42)}AAA`] },
    `${longFingerprint} and ${invalidFingerprint}`,
  ],
  [{ fingerprints: [`${"AA:".repeat(43)}AA`] }, longFingerprint],
  ...schemeRefusals,
  [{ name: "n".repeat(501) }, "Name is invalid"],
  [{ name: "\0" }, "Name is invalid"],
  [{ name: "\udf00 shop" }, "Name is invalid"],
  [
    { package_name: "", fingerprints: [] },
    noName.replace(" and ", ", ") + `, and ${noFingerprint}`,
  ],
  [{ package_name: "a", fingerprints: ["b"] }, `Package name is invalid and ${invalidFingerprint}`],
  [{ fingerprints: "AA:BB" }, "Fingerprints must be a list of strings"],
  [{ fingerprints: [[]] }, "Fingerprints must be a string"],
  [{ package_name: [1] }, "Package name must be a string"],
] as const;

const iosForms = [
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
  ...schemeForms,
  ["custom_scheme", "", null],
  ["custom_scheme", "://", null],
  ["name", "", null],
  ["name", "Été 漢字", "Été 漢字"],
] as const;

const longest = `${"AA:".repeat(42)}AA`;
const androidForms = [
  ["package_name", "com.Example_1.x2", "com.Example_1.x2"],
  ["fingerprints", [sha256], [sha256.toUpperCase()]],
  ["fingerprints", ["aa:bb", "", "  ", "0f:1E"], ["AA:BB", "0F:1E"]],
  ["fingerprints", [" aa:bb "], ["AA:BB"]],
  ["fingerprints", [longest], [longest]],
  ...schemeForms,
  ["custom_scheme", "example://", "example"],
  ["custom_scheme", "", null],
  ["name", "", null],
] as const;

const ios: Kind = {
  label: "iOS app",
  name: "ios_app",
  key: "bundle_id",
  keyLabel: "Bundle",
  app: iosApp,
  optional: {
    app_store_id: "1234567890",
    name: "Example",
    clip_bundle_id: "com.example.app.Clip",
    custom_scheme: "example",
  },
  notWrapped: [
    {},
    iosApp,
    { ios_app: null },
    { ios_app: [] },
    { ios_app: "x" },
    { android_app: iosApp },
  ],
  refusals: iosRefusals,
  forms: iosForms,
};
const android: Kind = {
  label: "Android app",
  name: "android_app",
  key: "package_name",
  keyLabel: "Package name",
  app: androidApp,
  optional: { name: "Example", custom_scheme: "example" },
  notWrapped: [{}, androidApp, { android_app: null }, { android_app: [] }, { ios_app: androidApp }],
  refusals: androidRefusals,
  forms: androidForms,
};

async function register(world: World, { name, app }: Kind, fields: object = {}) {
  const body = { [name]: { ...app, ...fields } };
  const reply = await world.call("POST", `/${name}s`, { body });
  expect(reply.status, reply.text).toBe(201);
  return reply.body;
}

describe.each([ios, android])("an $label", (kind) => {
  const { label, name, key, keyLabel, app, optional } = kind;
  const path = `/${name}s`;
  const listAll = async (world: World) => (await world.call("GET", path)).body[`${name}s`];

  test("can be created, read, listed, updated and deleted", async () => {
    const fields = { ...app, ...optional };
    const made = await register(world, kind, fields);
    expect(made).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), ...fields });

    const shown = await world.call("GET", `${path}/${made.id}`);
    expect([shown.status, shown.body]).toEqual([200, made]);
    const listed = await world.call("GET", path);
    expect([listed.status, listed.body[`${name}s`]]).toEqual([200, [made]]);
    expect(listed.body.meta).toMatchObject({ page: 1, limit: 20, count: 1 });

    for (const method of ["PATCH", "PUT"]) {
      const body = { [name]: { name: method } };
      const changed = await world.call(method, `${path}/${made.id}`, { body });
      expect([changed.status, changed.body]).toEqual([200, { ...made, name: method }]);
    }
    const deleted = await world.call("DELETE", `${path}/${made.id}`);
    expect([deleted.status, deleted.text]).toEqual([204, ""]);
    expect(await listAll(world)).toEqual([]);
  });

  test("is returned with null for each optional field that was never set", async () => {
    const made = await register(world, kind);
    const nulls = Object.fromEntries(Object.keys(optional).map((field) => [field, null]));
    expect(made).toEqual({ id: made.id, ...app, ...nulls });
  });

  test.each(["GET", "PATCH", "PUT", "DELETE"])(
    "is found only by its ID: %s returns 404 for anything else",
    async (method) => {
      const made = await register(world, kind);
      for (const id of [unknownId, String(app[key]), "1"]) {
        const body = method.startsWith("P") ? { [name]: { name: "new" } } : undefined;
        const reply = await world.call(method, `${path}/${id}`, { body });
        expect([reply.status, reply.body]).toEqual([404, { error: `${label} not found` }]);
      }
      expect((await world.call("GET", `${path}/${made.id}`)).body).toEqual(made);
    },
  );

  test("cannot be created or updated if the body lacks the wrapper object", async () => {
    const { id } = await register(world, kind);
    const error = `Required parameter is missing: ${name}.`;
    for (const body of kind.notWrapped) {
      for (const method of ["POST", "PATCH", "PUT"]) {
        const at = method === "POST" ? path : `${path}/${id}`;
        const reply = await world.call(method, at, { body });
        expect([body, method, reply.status, reply.body]).toEqual([body, method, 400, { error }]);
      }
    }
  });

  test("cannot be created or updated with invalid fields", async () => {
    const other = await register(world, kind, { [key]: "com.example.other" });
    for (const [fields, error] of kind.refusals) {
      for (const method of ["PATCH", "PUT", "POST"]) {
        const at = method === "POST" ? path : `${path}/${other.id}`;
        const given = method === "POST" ? { ...app, ...fields } : fields;
        const reply = await world.call(method, at, { body: { [name]: given } });
        const wanted = [fields, method, 422, { error }];
        expect([fields, method, reply.status, reply.body]).toEqual(wanted);
      }
    }
    expect(await listAll(world)).toEqual([other]);
  });

  test(`cannot use the ${key} of another app in its project`, async () => {
    const made = await register(world, kind);
    const other = await register(world, kind, { [key]: "com.example.other" });
    const error = `${keyLabel} has already been taken`;
    const again = await world.call("POST", path, { body: { [name]: app } });
    expect([again.status, again.body]).toEqual([422, { error }]);
    const body = { [name]: { [key]: app[key] } };
    const moved = await world.call("PATCH", `${path}/${other.id}`, { body });
    expect([moved.status, moved.body]).toEqual([422, { error }]);
    const same = await world.call("PATCH", `${path}/${made.id}`, { body });
    expect([same.status, same.body]).toEqual([200, made]);

    const elsewhere = await world.addKey({ project: await world.addProject() });
    const given = { key: elsewhere, body: { [name]: app } };
    expect((await world.call("POST", path, given)).status).toBe(201);
    await world.call("DELETE", `${path}/${made.id}`);
    await register(world, kind);
  });

  test(`is registered only once if two concurrent requests send the same ${key}`, async () => {
    const given = { body: { [name]: app } };
    const replies = await Promise.all([1, 2].map(() => world.call("POST", path, given)));
    expect(replies.map((reply) => reply.status).toSorted((a, b) => a - b)).toEqual([201, 422]);
  });

  test("is saved with each field normalized", async () => {
    for (const [field, given, kept] of kind.forms) {
      const made = await register(world, kind, { [field]: given });
      expect([field, given, made[field]]).toEqual([field, given, kept]);
      for (const changes of [{ [field]: given }, made]) {
        const body = { [name]: changes };
        const changed = await world.call("PATCH", `${path}/${made.id}`, { body });
        expect([changed.status, changed.body]).toEqual([200, made]);
      }
      await world.call("DELETE", `${path}/${made.id}`);
    }
  });
});

test("registering an iOS app without any fields reports every missing field", async () => {
  const reply = await world.call("POST", "/ios_apps", { body: { ios_app: {} } });
  expect(reply.status).toBe(422);
  expect(reply.body).toEqual({
    error: `Bundle is invalid, Bundle can't be blank, and ${wrongTeam}`,
  });
});

test("the 422 for a bundle ID already in use also lists the app's other problems", async () => {
  await register(world, ios);
  const body = { ios_app: { ...iosApp, team_id: "short" } };
  const error = `Bundle has already been taken and ${wrongTeam}`;
  expect((await world.call("POST", "/ios_apps", { body })).body).toEqual({ error });
});

test("sending null clears an optional field of an iOS app", async () => {
  const cleared = { app_store_id: null, name: null, clip_bundle_id: null, custom_scheme: null };
  const made = await register(world, ios, {
    app_store_id: "1",
    name: "Example",
    clip_bundle_id: "com.example.clip",
    custom_scheme: "example",
  });
  const changed = await world.call("PATCH", `/ios_apps/${made.id}`, { body: { ios_app: cleared } });
  expect(changed.body).toEqual({ ...made, ...cleared });
});

test("sending an iOS app back unmodified does not change it", async () => {
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
  const property = fc.asyncProperty<[object]>(fields, async (given) => {
    world.advance(60_000);
    const made = await register(world, ios, given);
    for (const changes of [made, { name: made.name }, {}]) {
      const body = { ios_app: changes };
      const changed = await world.call("PATCH", `/ios_apps/${made.id}`, { body });
      expect([changed.status, changed.body]).toEqual([200, made]);
    }
    await world.call("DELETE", `/ios_apps/${made.id}`);
  });
  const twoTeams = "ABCDE12345.ZZZZZ99999.com.example.clip";
  const examples: [object][] = [[{ clip_bundle_id: twoTeams }]];
  await fc.assert(property, { numRuns: 80, examples });
});

test("an Android app's fingerprints change only if the update contains fingerprints", async () => {
  const made = await register(world, android, { fingerprints: ["AA:BB", "CC:DD"] });
  const body = { android_app: { fingerprints: ["ee:ff"] } };
  const changed = await world.call("PATCH", `/android_apps/${made.id}`, { body });
  expect(changed.body).toEqual({ ...made, fingerprints: ["EE:FF"] });
  const name = { android_app: { name: "Example" } };
  const renamed = await world.call("PATCH", `/android_apps/${made.id}`, { body: name });
  expect(renamed.body.fingerprints).toEqual(["EE:FF"]);
});
