import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openStage, ownerFacts, type Deployment, type Stage } from "../../../support/stage.ts";
import { createWorld, type World } from "../../../support/world.ts";

/** An `id` is the UUID, or whatever tells exactly one: a path, a bundle id, a package name. */

const linkHost = "http://default.localhost:8787";
const known = { facts: ownerFacts, linkHost };

/** With a joiner that is shown by its number. */
const joined = "می\u200cخواهم";

let world: World;
let stage: Stage;
const ids: Record<string, string> = {};

beforeAll(async () => {
  world = await createWorld();
  stage = await openStage({ send: world.fetch, key: world.key, known });
  for (const path of ["spring", "spring/new shoes", "café", "SPRING", "spring-sale", joined]) {
    ids[path] = (await world.call("POST", "/links", { body: { path, name: path } })).body.id;
  }
  const ios_app = { bundle_id: "com.example.app", team_id: "ABCDE12345", name: "Example" };
  ids["ios"] = (await world.call("POST", "/ios_apps", { body: { ios_app } })).body.id;
  const android_app = { package_name: "com.example.app", fingerprints: ["AA:BB"] };
  ids["android"] = (await world.call("POST", "/android_apps", { body: { android_app } })).body.id;
});

let before = 0;
beforeEach(() => {
  before = stage.asked.length;
});

afterAll(async () => {
  expect([...world.reported, ...stage.reported]).toEqual([]);
  await stage[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

describe("one link is found", () => {
  test.each([
    ["by its path", "spring", "spring"],
    ["by its path with the leading slash", "/spring", "spring"],
    ["by a path of several parts", "spring/new shoes", "spring/new shoes"],
    ["by its encoded path", "spring/new%20shoes", "spring/new shoes"],
    ["by a path that is no ASCII", "café", "café"],
    ["by the same path composed otherwise", "cafe\u0301", "café"],
    ["by that path as a browser encodes it", "caf%C3%A9", "café"],
    ["by its case", "SPRING", "SPRING"],
    ["by its whole address", `${linkHost}/spring`, "spring"],
    ["by its whole address, encoded", `${linkHost}/spring/new%20shoes`, "spring/new shoes"],
    ["by an address with a query", `${linkHost}/spring?utm_source=mail#top`, "spring"],
    ["by an address in other letters", "HTTP://Default.LOCALHOST:8787/spring", "spring"],
  ])("%s", async (_, id, path) => {
    const { structured } = await stage.callTool("get_link", { id });
    expect(structured.link).toMatchObject({ id: ids[path], path });
  });

  test("by its path as a result shows it", async () => {
    const { structured } = await stage.callTool("get_link", { id: ids[joined] ?? "" });
    const shown: string = structured.link.path;
    expect(shown).toBe("می\\u{200c}خواهم");
    const again = await stage.callTool("get_link", { id: shown });
    expect(again.structured.link.id).toBe(ids[joined]);
  });

  test("by its UUID in any case, without looking for it first", async () => {
    const id = ids["spring"] ?? "";
    for (const form of [id, id.toUpperCase()]) {
      expect((await stage.callTool("get_link", { id: form })).structured.link.id).toBe(id);
    }
    expect(stage.asked.slice(before)).toEqual([`GET /links/${id}`, `GET /links/${id}`]);
  });
});

test("an app is found by its bundle id or package name", async () => {
  for (const [tool, kind] of [
    ["get_ios_app", "ios"],
    ["get_android_app", "android"],
  ] as const) {
    for (const id of ["com.example.app", " com.example.app ", ids[kind]]) {
      const { structured } = await stage.callTool(tool, { id });
      expect(structured[`${kind}_app`].id).toBe(ids[kind]);
    }
  }
});

test("what was looked for by its name is changed and deleted by its UUID", async () => {
  await stage.callTool("create_link", { path: "short-lived", name: "Before" });
  const updated = await stage.callTool("update_link", { id: "short-lived", name: "After" });
  expect(updated.structured.link).toMatchObject({ path: "short-lived", name: "After" });
  const { deleted } = (await stage.callTool("delete_link", { id: "short-lived" })).structured;
  expect(deleted).toEqual({ id: updated.structured.link.id, path: "short-lived", name: "After" });
  expect(stage.asked.at(-1)).toBe(`DELETE /links/${deleted.id}`);
});

describe("not exactly one match is none", () => {
  test("and those that are near are offered", async () => {
    const { structured } = await stage.callTool("get_link", { id: "prin" });
    expect(structured.error).toMatchObject({
      code: "not_found",
      message: 'No link has the UUID, name, (short) path or address "prin".',
      effect: "none",
      retry: "never",
      next: "Ask the user which of these is meant, then call again with its id.",
    });
    expect(structured.error.problems).toHaveLength(4);
    expect(structured.error.problems).toContainEqual({
      field: "id",
      message: 'similar: name "spring/new shoes", path "spring/new shoes"',
      fix: `Use id "${ids["spring/new shoes"]}".`,
    });
  });

  const none = "No link has the UUID, name, (short) path or address";

  test.each([
    ["get_link", "winter", `${none} "winter".`],
    ["get_link", "", `${none} "".`],
    ["get_link", " ", `${none} " ".`],
    ["get_link", "/", `${none} "/".`],
    ["get_link", "https://elsewhere.example/winter", "No link has"],
    ["get_link", "%", `${none} "%".`],
    ["get_link", "a\u0000b\ud800", "No link has"],
    ["get_link", "null", `${none} "null".`],
    ["get_ios_app", "org.example", "No iOS app has the UUID, name or bundle_id"],
    ["get_android_app", "COM.other", "No Android app has the"],
    ["delete_link", "winter", "No link has"],
    ["update_ios_app", "org.example", "No iOS app has"],
  ])("%s %j", async (tool, id, message) => {
    const { isError, structured } = await stage.callTool(tool, { id });
    expect(isError).toBe(true);
    expect(structured.error).toMatchObject({ code: "not_found", effect: "none", retry: "never" });
    expect(structured.error.message).toContain(message);
    expect(structured.error.next).toContain("Look up the right id");
    expect(structured.error.problems).toBeUndefined();
  });

  test("a UUID that nobody has is the API's own 404", async () => {
    for (const [tool, message] of [
      ["get_link", 'The server at deployment.example answered: "Link not found"'],
      ["get_ios_app", "iOS app not found"],
      ["delete_android_app", "Android app not found"],
    ] as const) {
      const { structured } = await stage.callTool(tool, { id: randomUUID() });
      expect(structured.error).toMatchObject({ code: "not_found", status: 404, message });
    }
  });

  test("nor does a project by a part of its name", async () => {
    const facts = { ...ownerFacts, kind: "master" } as const;
    await using masters = await openStage({
      send: world.fetch,
      key: world.master,
      known: { facts },
    });
    const { structured } = await masters.callTool("delete_project", { id: "defaul" });
    expect(structured.error).toMatchObject({
      code: "not_found",
      message: 'No project has the UUID, name or subdomain "defaul".',
      problems: [{ message: 'similar: name "Default", subdomain "default"' }],
    });
    for (const id of ["default", "Default", "DEFAULT", world.project.id]) {
      const { project } = (await masters.callTool("get_project", { id })).structured;
      expect(project.id).toBe(world.project.id);
    }
  });
});

/** Everything that it has, whatever was asked for. */
function ignoreFilters(request: Request): Promise<Response> {
  const url = new URL(request.url);
  if (request.method === "GET") url.search = "";
  return world.fetch(new Request(url, request));
}

describe("a deployment that ignores filters", () => {
  test("does not make us take another link for the one that was meant", async () => {
    await using other = await openStage({ send: ignoreFilters, key: world.key, known });
    for (const tool of ["get_link", "delete_link"]) {
      const { structured } = await other.callTool(tool, { id: "winter" });
      expect(structured.error).toMatchObject({ code: "not_found", effect: "none" });
      expect(structured.error.problems).toBeUndefined();
    }
    expect((await other.callTool("get_link", { id: "spring" })).structured.link.id).toBe(
      ids["spring"],
    );
    expect(other.asked.filter((line) => !line.startsWith("GET"))).toEqual([]);
  });

  test("or one of two that claim the same path", async () => {
    const twice: Deployment = async (request) => {
      const response = await world.fetch(request);
      if (!new URL(request.url).search) return response;
      const body = JSON.parse(await response.text());
      return Response.json({ ...body, links: [...body.links, { ...body.links[0], id: "other" }] });
    };
    await using other = await openStage({ send: twice, key: world.key, known });
    const { structured } = await other.callTool("delete_link", { id: "spring" });
    expect(structured.error).toMatchObject({ code: "not_found" });
    expect(structured.error.problems).toHaveLength(2);
  });
});

test("a key that may not list is told to bring the UUID", async () => {
  const scopes = ["links.show", "links.destroy"] as const;
  const key = await world.addKey({ scopes });
  await using other = await openStage({
    send: world.fetch,
    key,
    known: { ...known, facts: { ...ownerFacts, scopes } },
  });
  const { structured } = await other.callTool("get_link", { id: "spring" });
  expect(structured.error).toMatchObject({
    code: "scope_missing",
    message: 'The server at deployment.example answered: "API key lacks the scope links.index."',
    next: "This key cannot find a link by its path. Call again with its UUID.",
  });
  expect((await other.callTool("get_link", { id: ids["spring"] })).isError).toBe(false);
});
