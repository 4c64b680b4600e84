import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readAnswer } from "../../../src/contract/server-answer.ts";
import { answering, openStage, ownerFacts, type Stage } from "../../support/stage.ts";
import { createWorld, type World } from "../../support/world.ts";

/** A 422 is one sentence for everything that is wrong: each part comes out with its field. */

let world: World;
let stage: Stage;

beforeAll(async () => {
  world = await createWorld();
  stage = await openStage({ send: world.fetch, key: world.key, known: { facts: ownerFacts } });
  await stage.callTool("register_ios_app", { bundle_id: "com.taken", team_id: "ABCDE12345" });
  await stage.callTool("register_android_app", {
    package_name: "com.taken",
    fingerprints: ["AA:BB"],
  });
  await stage.callTool("create_link", { path: "taken" });
});

afterAll(async () => {
  await stage[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

type Problem = readonly [field: string | undefined, message: string];

async function fail(tool: string, args: Record<string, unknown>, on = stage) {
  const { structured } = await on.callTool(tool, args);
  expect(structured.error).toMatchObject({ code: "validation_failed", status: 422 });
  const problems: readonly { readonly field?: string; readonly message: string }[] =
    structured.error.problems ?? [];
  return problems.map(({ field, message }): Problem => [field, readAnswer(message)]);
}

const ios = { bundle_id: "com.example", team_id: "ABCDE12345" };
const android = { package_name: "com.example", fingerprints: ["AA:BB"] };

/** api-spec.md, "App validation messages", copied by hand. */
const table: readonly (readonly [tool: string, args: Record<string, unknown>, ...Problem])[] = [
  ["register_ios_app", { ...ios, bundle_id: "" }, "bundle_id", "Bundle can't be blank"],
  ["register_ios_app", { ...ios, bundle_id: "a b" }, "bundle_id", "Bundle is invalid"],
  [
    "register_ios_app",
    { ...ios, bundle_id: "com.taken" },
    "bundle_id",
    "Bundle has already been taken",
  ],
  [
    "register_ios_app",
    { ...ios, team_id: "short" },
    "team_id",
    "Team is the wrong length (should be 10 characters)",
  ],
  [
    "register_ios_app",
    { ...ios, clip_bundle_id: "a b" },
    "clip_bundle_id",
    "Clip bundle is invalid",
  ],
  [
    "register_android_app",
    { ...android, package_name: "" },
    "package_name",
    "Package name can't be blank",
  ],
  [
    "register_android_app",
    { ...android, package_name: "app" },
    "package_name",
    "Package name is invalid",
  ],
  [
    "register_android_app",
    { ...android, package_name: "com.taken" },
    "package_name",
    "Package name has already been taken",
  ],
  [
    "register_android_app",
    { ...android, fingerprints: [] },
    "fingerprints",
    "Fingerprints can't be blank",
  ],
  [
    "register_android_app",
    { ...android, fingerprints: ["AABB"] },
    "fingerprints",
    "Fingerprints is invalid",
  ],
];

describe("every message of the specification comes out with its field", () => {
  test.each(table)("%s %j", async (tool, args, field, message) => {
    expect(await fail(tool, args)).toContainEqual([field, message]);
    // Another deployment's own words for the same end the same way.
    await using other = await openStage({ send: answering(422, { error: message }) });
    const valid = tool === "register_ios_app" ? ios : android;
    expect(await fail(tool, valid, other)).toEqual([[field, message]]);
  });
});

describe("a sentence of several parts is taken apart", () => {
  test("as the specification joins three", async () => {
    const team = "Team is the wrong length (should be 10 characters)";
    expect(await fail("register_ios_app", {})).toEqual([
      ["bundle_id", "Bundle is invalid"],
      ["bundle_id", "Bundle can't be blank"],
      ["team_id", team],
    ]);
    const error = `Bundle is invalid, Bundle can't be blank, and ${team}`;
    await using other = await openStage({ send: answering(422, { error }) });
    expect(await fail("register_ios_app", {}, other)).toHaveLength(3);
  });

  test("for links, with the fields of the apps that they would create", async () => {
    const problems = await fail("create_link", {
      path: "taken",
      url: "ftp://a.example",
      campaign_token: "a",
      ios_app: { bundle_id: "a b", team_id: "x" },
      android_app: { package_name: "app", fingerprints: ["AABB"] },
    });
    expect(problems.map(([field = ""]) => field).toSorted()).toEqual([
      "android_app.fingerprints",
      "android_app.package_name",
      "campaign_token",
      "ios_app.bundle_id",
      "ios_app.team_id",
      "path",
      "url",
    ]);
  });

  test("for links whose app is not there, or named twice", async () => {
    const id = "00000000-0000-4000-8000-000000000000";
    expect(await fail("create_link", { path: "taken", ios_app: { id } })).toEqual([
      ["path", "Path has already been taken"],
      ["ios_app", "iOS app not found"],
    ]);
    expect(await fail("create_link", { android_app: { id } })).toEqual([
      ["android_app", "Android app not found"],
    ]);
    const both = { id, bundle_id: "com.taken" };
    expect(await fail("create_link", { url: "x", ios_app: both })).toContainEqual([
      "ios_app",
      "Ios app needs exactly one of id or bundle_id",
    ]);
  });

  test("for projects and short links", async () => {
    const facts = { ...ownerFacts, kind: "master" } as const;
    await using masters = await openStage({
      send: world.fetch,
      key: world.master,
      known: { facts },
    });
    const problems = await fail("create_project", { subdomain: "a b" }, masters);
    expect(new Set(problems.map(([field]) => field))).toEqual(new Set(["name", "subdomain"]));
    expect((await fail("shorten_link", { url: "x" })).map(([field]) => field)).toEqual(["url"]);
  });

  test.each<readonly [string, readonly Problem[]]>([
    [
      "Name is too long and Url is invalid",
      [
        ["name", "Name is too long"],
        ["url", "Url is invalid"],
      ],
    ],
    [
      "URL is invalid, and Name is too long",
      [
        ["url", "URL is invalid"],
        ["name", "Name is too long"],
      ],
    ],
    [
      "Android fallback url is invalid",
      [["android_fallback_url", "Android fallback url is invalid"]],
    ],
    ["iOS fallback URL is odd", [["ios_fallback_url", "iOS fallback URL is odd"]]],
    ["Something, and then more of it", []],
    [
      "Colour is red, Name is odd, and Shape is round",
      [
        [undefined, "Colour is red"],
        ["name", "Name is odd, and Shape is round"],
      ],
    ],
    ["Named is no field, and Names neither", []],
    ["", []],
  ])("in another deployment's words: %s", async (error, problems) => {
    await using other = await openStage({ send: answering(422, { error }) });
    if (error === "") {
      const { structured } = await other.callTool("create_link", {});
      return expect(structured.error.code).toBe("bad_response");
    }
    expect(await fail("create_link", {}, other)).toEqual(problems);
  });

  test("where it comes as a list under `errors`, as short links may answer it", async () => {
    const errors = ["Url is invalid", "Prefix is odd"];
    await using other = await openStage({ send: answering(422, { errors }) });
    expect(await fail("shorten_link", { url: "x" }, other)).toEqual([
      ["url", "Url is invalid"],
      ["prefix", "Prefix is odd"],
    ]);
  });
});

describe("other forms of a refusal reach the assistant in the same one", () => {
  const url: Problem = ["url", "Url is invalid"];

  test.each<readonly [string, unknown]>([
    ["a list for each field", { errors: { url: ["is invalid"] } }],
    ["fields and messages", { errors: [{ field: "url", message: "Url is invalid" }] }],
    ["texts, whose fields their words tell", { errors: ["Url is invalid"] }],
    ["a message", { message: "Url is invalid" }],
  ])("%s", async (_, body) => {
    await using other = await openStage({ send: answering(422, body) });
    expect(await fail("create_link", {}, other)).toEqual([url]);
  });

  test("plain text", async () => {
    await using other = await openStage({
      send: () => Promise.resolve(new Response("Url is invalid\n", { status: 422 })),
    });
    expect(await fail("create_link", {}, other)).toEqual([url]);
  });

  test("a 400 that lists them", async () => {
    const body = { errors: { url: ["is invalid"] } };
    await using other = await openStage({ send: answering(400, body) });
    const { structured } = await other.callTool("create_link", {});
    expect(structured.error).toMatchObject({
      code: "bad_request",
      message: 'The server at deployment.example answered: "Url is invalid"',
      problems: [
        { field: "url", message: 'The server at deployment.example answered: "Url is invalid"' },
      ],
      effect: "none",
    });
  });
});

test("only the specification's parts of a remote sentence stay unquoted", async () => {
  const error = "Bundle is invalid and Team is odd";
  await using other = await openStage({ send: answering(422, { error }) });
  const { structured } = await other.callTool("register_ios_app", ios);
  expect(structured.error).toMatchObject({
    message: `The server at deployment.example answered: "${error}"`,
    problems: [
      { field: "bundle_id", message: "Bundle is invalid" },
      { field: "team_id", message: 'The server at deployment.example answered: "Team is odd"' },
    ],
  });
});

test("what is no 422 has no problems", async () => {
  await using other = await openStage({ send: answering(400, { error: "Name is missing" }) });
  const { structured } = await other.callTool("create_link", {});
  expect(structured.error).not.toHaveProperty("problems");
});
