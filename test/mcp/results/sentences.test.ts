import { describe, expect, test } from "vitest";
import { readAnswer } from "../../../src/contract/server-answer.ts";
import { openForAll } from "../../support/open-for.ts";
import { answering, openStage, ownerFacts, type Stage } from "../../support/stage.ts";
import { createWorld, type World } from "../../support/world.ts";

/** A 422 describes all problems in one sentence. Results list each problem with its field. */

let world: World;
let stage: Stage;

openForAll(createWorld, async (opened, keep) => {
  world = opened;
  const { fetch: send, key } = world;
  stage = keep(await openStage({ send, key, known: { facts: ownerFacts } }));
  await stage.callTool("register_ios_app", { bundle_id: "com.taken", team_id: "ABCDE12345" });
  await stage.callTool("register_android_app", {
    package_name: "com.taken",
    fingerprints: ["AA:BB"],
  });
  await stage.callTool("create_link", { path: "taken" });
});

type Problem = readonly [field: string | undefined, message: string];

async function failRemote(body: object, tool = "create_link", args = {}) {
  await using other = await openStage({ send: answering(422, body) });
  return await fail(tool, args, other);
}

async function fail(tool: string, args: Record<string, unknown>, on = stage) {
  const { structured } = await on.callTool(tool, args);
  expect(structured.error).toMatchObject({ code: "validation_failed", status: 422 });
  const problems: readonly { readonly field?: string; readonly message: string }[] =
    structured.error.problems ?? [];
  return problems.map(({ field, message }): Problem => [field, readAnswer(message)]);
}

const ios = { bundle_id: "com.example", team_id: "ABCDE12345" };
const android = { package_name: "com.example", fingerprints: ["AA:BB"] };
const teamLength = "Team is the wrong length (should be 10 characters)";

/** Clients depend on the exact wording of these messages about invalid apps. */
test.each<readonly [tool: string, field: string, value: unknown, message: string]>([
  ["register_ios_app", "bundle_id", "", "Bundle can't be blank"],
  ["register_ios_app", "bundle_id", "a b", "Bundle is invalid"],
  ["register_ios_app", "bundle_id", "com.taken", "Bundle has already been taken"],
  ["register_ios_app", "team_id", "short", teamLength],
  ["register_ios_app", "clip_bundle_id", "a b", "Clip bundle is invalid"],
  ["register_android_app", "package_name", "", "Package name can't be blank"],
  ["register_android_app", "package_name", "app", "Package name is invalid"],
  ["register_android_app", "package_name", "com.taken", "Package name has already been taken"],
  ["register_android_app", "fingerprints", [], "Fingerprints can't be blank"],
  ["register_android_app", "fingerprints", ["AABB"], "Fingerprints is invalid"],
])(
  "a validation error names the invalid field: %s with %s %j",
  async (tool, field, value, message) => {
    const valid = tool === "register_ios_app" ? ios : android;
    expect(await fail(tool, { ...valid, [field]: value })).toContainEqual([field, message]);
    // A remote server may reject a request that our own service accepts.
    expect(await failRemote({ error: message }, tool, valid)).toEqual([[field, message]]);
  },
);

describe("splitting an error message into problems", () => {
  test('separates three problems that are joined with commas and "and"', async () => {
    const parts = ["Bundle is invalid", "Bundle can't be blank", teamLength] as const;
    const [first, second, third] = parts;
    const problems = [
      ["bundle_id", first],
      ["bundle_id", second],
      ["team_id", third],
    ];
    expect(await fail("register_ios_app", {})).toEqual(problems);
    const error = `${first}, ${second}, and ${third}`;
    expect(await failRemote({ error }, "register_ios_app")).toEqual(problems);
  });

  test("assigns each problem to its field, including fields of a link's new apps", async () => {
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

  test("assigns a problem with an app's ID to the link's app field", async () => {
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

  test("assigns the problems of projects and short links to their fields", async () => {
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

  test.each<readonly [error: string, ...Problem[]]>([
    [
      "Name is too long and Url is invalid",
      ["name", "Name is too long"],
      ["url", "Url is invalid"],
    ],
    [
      "URL is invalid, and Name is too long",
      ["url", "URL is invalid"],
      ["name", "Name is too long"],
    ],
    [
      "Android fallback url is invalid",
      ["android_fallback_url", "Android fallback url is invalid"],
    ],
    ["iOS fallback URL is odd", ["ios_fallback_url", "iOS fallback URL is odd"]],
    ["Something, and then more of it"],
    [
      "Colour is red, Name is odd, and Shape is round",
      [undefined, "Colour is red"],
      ["name", "Name is odd, and Shape is round"],
    ],
    ["Named is no field, and Names neither"],
  ])("separates only the parts that it recognizes: %s", async (error, ...problems) => {
    expect(await failRemote({ error })).toEqual(problems);
  });
});

test("a 422 response without a message causes the error bad_response", async () => {
  await using other = await openStage({ send: answering(422, { error: "" }) });
  const { structured } = await other.callTool("create_link", {});
  expect(structured.error.code).toBe("bad_response");
});

test("each error in the body of a 400 response is returned as a problem", async () => {
  const body = { errors: { url: ["is invalid"] } };
  await using other = await openStage({ send: answering(400, body) });
  const { structured } = await other.callTool("create_link", {});
  const message = 'The server at deployment.example answered: "Url is invalid"';
  const problems = [{ field: "url", message }];
  expect(structured.error).toMatchObject({
    code: "bad_request",
    message,
    problems,
    effect: "none",
  });
});

test("a problem quotes any part of a remote server's error that is not recognized", async () => {
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

test("a 400 response with a single message causes an error without a problem list", async () => {
  await using other = await openStage({ send: answering(400, { error: "Name is missing" }) });
  const { structured } = await other.callTool("create_link", {});
  expect(structured.error).not.toHaveProperty("problems");
});
