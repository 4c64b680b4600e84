import { describe, expect, test } from "vitest";
import { openForAll } from "../../support/open-for.ts";
import { openStage, ownerFacts, type Stage, type Staging } from "../../support/stage.ts";
import { createWorld, type World } from "../../support/world.ts";

/** What could follow while a person types, through the official clients of both lines. */

let world: World;

openForAll(createWorld, async (opened) => {
  world = opened;
  for (const path of ["spring", "spring/shoes", "summer", "spread", "late-spring"]) {
    await world.call("POST", "/links", { body: { path } });
  }
  for (const bundle_id of ["com.example.one", "com.example.two", "org.other"]) {
    await world.call("POST", "/ios_apps", {
      body: { ios_app: { bundle_id, team_id: "ABCDE12345" } },
    });
  }
  const android_app = { package_name: "com.example.droid", fingerprints: ["AA:BB"] };
  await world.call("POST", "/android_apps", { body: { android_app } });
});

const open = (given: Partial<Staging> = {}) =>
  openStage({ send: world.fetch, key: world.key, known: { facts: ownerFacts }, ...given });

async function complete(
  { client }: Stage,
  of: { readonly uri: string } | { readonly prompt: string },
  name: string,
  value: string,
) {
  const ref =
    "uri" in of
      ? ({ type: "ref/resource", uri: of.uri } as const)
      : ({ type: "ref/prompt", name: of.prompt } as const);
  const { completion } = await client.complete({ ref, argument: { name, value } });
  return completion;
}

describe.each(["v1", "legacy", "modern"] as const)("a client of %s is offered", (era) => {
  test.each([
    ["waypost://links/{id}", "sp", ["spread", "spring", "spring/shoes"]],
    ["waypost://links/{id}", "/spring", ["spring", "spring/shoes"]],
    ["waypost://links/{id}", "", ["late-spring", "spread", "spring", "spring/shoes", "summer"]],
    ["waypost://links/{id}", "nothing", []],
    ["waypost://ios_apps/{id}", "com.", ["com.example.one", "com.example.two"]],
    ["waypost://android_apps/{id}", "com", ["com.example.droid"]],
    ["waypost://projects/{id}", "a", []],
    ["waypost://elsewhere/{id}", "a", []],
  ])("for %s, begun with %j, %j", async (uri, value, values) => {
    await using stage = await open({ era });
    expect((await complete(stage, { uri }, "id", value)).values).toEqual(values);
  });

  test.each([
    ["launch_campaign", "bundle_id", "org", ["org.other"]],
    ["connect_app", "package_name", "com", ["com.example.droid"]],
    ["launch_campaign", "name", "a", []],
    ["launch_campaign", "constructor", "a", []],
    ["nothing", "colour", "a", []],
  ])("for the prompt %s and its %s, begun with %j, %j", async (prompt, name, value, values) => {
    await using stage = await open({ era });
    expect((await complete(stage, { prompt }, name, value)).values).toEqual(values);
  });
});

test("no more than twenty are offered, and that there may be more is said", async () => {
  const project = await world.addProject();
  const key = await world.addKey({ project });
  for (let number = 10; number < 35; number += 1) {
    await world.call("POST", "/links", { key, body: { path: `many-${number}` } });
  }
  await using stage = await open({ key });
  const some = await complete(stage, { uri: "waypost://links/{id}" }, "id", "many");
  expect(some.values).toHaveLength(20);
  expect(some.hasMore).toBe(true);
  const few = await complete(stage, { uri: "waypost://links/{id}" }, "id", "many-3");
  expect(few).toMatchObject({ values: expect.arrayContaining(["many-34"]), hasMore: false });
});

describe("nothing is offered, and nothing breaks,", () => {
  test("where the operator has left the tool out", async () => {
    await using stage = await open({ selection: ["apps", "-get_ios_app"] });
    for (const kind of ["links", "ios_apps"]) {
      const { values } = await complete(stage, { uri: `waypost://${kind}/{id}` }, "id", "");
      expect([values, stage.asked]).toEqual([[], []]);
    }
    const { values } = await complete(stage, { uri: "waypost://android_apps/{id}" }, "id", "");
    expect(values).toEqual(["com.example.droid"]);
  });

  test("where the key may not list", async () => {
    const facts = { ...ownerFacts, scopes: ["links.show"] } as const;
    await using stage = await open({ known: { facts } });
    const { values } = await complete(stage, { uri: "waypost://links/{id}" }, "id", "s");
    expect([values, stage.asked]).toEqual([[], []]);
  });

  test.each([
    ["is down", () => Promise.reject<Response>(new Error("down"))],
    ["refuses", () => Promise.resolve(Response.json({ error: "No." }, { status: 401 }))],
    ["answers nonsense", () => Promise.resolve(new Response("<h1>Hello</h1>"))],
  ])("where the deployment %s", async (_, send) => {
    await using stage = await open({ send });
    const { values } = await complete(stage, { uri: "waypost://links/{id}" }, "id", "s");
    expect([values, stage.reported]).toEqual([[], []]);
  });

  test("where a row has no name", async () => {
    const row = (await world.call("GET", "/links", { query: "limit=1" })).body;
    const links = [
      { ...row.links[0], path: null },
      { ...row.links[0], path: "a\u202eb" },
    ];
    await using stage = await open({ send: async () => Response.json({ ...row, links }) });
    const { values } = await complete(stage, { uri: "waypost://links/{id}" }, "id", "s");
    expect(values).toEqual([String.raw`a\u{202e}b`]);
  });
});
