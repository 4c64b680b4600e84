import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { openForAll } from "../../../support/open-for.ts";
import { openStage, ownerFacts, type Handler, type Stage } from "../../../support/stage.ts";
import { createWorld, type World } from "../../../support/world.ts";

/** An `id` can be a UUID, or a path, bundle ID or package name that only one record has. */

const linkHost = "http://default.localhost:8787";
const known = { facts: ownerFacts, linkHost };

/** A path with a zero-width joiner, which results escape. */
const joined = "می\u200cخواهم";

let world: World;
let stage: Stage;
const ids: Record<string, string> = {};

openForAll(createWorld, async (opened, keep) => {
  world = opened;
  stage = keep(await openStage({ send: world.fetch, key: world.key, known }));
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

describe("get_link", () => {
  test.each([
    ["by a path of several segments", "spring/new shoes", "spring/new shoes"],
    ["by its encoded path", "spring/new%20shoes", "spring/new shoes"],
    ["by a non-ASCII path", "café", "café"],
    ["by its path in another Unicode form", "cafe\u0301", "café"],
    ["by a non-ASCII path that is percent-encoded", "caf%C3%A9", "café"],
    ["by a path that differs from another path only in capitalization", "SPRING", "SPRING"],
    ["by its encoded URL", `${linkHost}/spring/new%20shoes`, "spring/new shoes"],
    ["by a URL in a different letter case", "HTTP://Default.LOCALHOST:8787/spring", "spring"],
  ])("finds a link %s", async (_, id, path) => {
    const { structured } = await stage.callTool("get_link", { id });
    expect(structured.link).toMatchObject({ id: ids[path], path });
  });

  test("finds a link by its path as escaped in results", async () => {
    const { structured } = await stage.callTool("get_link", { id: ids[joined] ?? "" });
    const shown: string = structured.link.path;
    expect(shown).toBe("می\\u{200c}خواهم");
    const again = await stage.callTool("get_link", { id: shown });
    expect(again.structured.link.id).toBe(ids[joined]);
  });

  test("finds a link by its UUID in any letter case, without a lookup", async () => {
    const id = ids["spring"] ?? "";
    for (const form of [id, id.toUpperCase()]) {
      expect((await stage.callTool("get_link", { id: form })).structured.link.id).toBe(id);
    }
    expect(stage.asked.slice(before)).toEqual([`GET /links/${id}`, `GET /links/${id}`]);
  });
});

describe("a lookup that finds nothing", () => {
  const none = "No link has the UUID, name, (short) path or address";

  test.each([
    ["get_link", " ", `${none} " ".`],
    ["get_link", "/", `${none} "/".`],
    ["get_link", "%", `${none} "%".`],
    ["get_link", "a\u0000b\ud800", "No link has"],
    ["get_ios_app", "org.example", "No iOS app has the UUID, name or bundle_id"],
    ["get_android_app", "COM.other", "No Android app has the"],
    ["delete_link", "winter", "No link has"],
  ])("returns not_found: %s %j", async (tool, id, message) => {
    const { isError, structured } = await stage.callTool(tool, { id });
    expect(isError).toBe(true);
    expect(structured.error).toMatchObject({ code: "not_found", effect: "none", retry: "never" });
    expect(structured.error.message).toContain(message);
    expect(structured.error.next).toContain("Look up the right id");
    expect(structured.error.problems).toBeUndefined();
  });

  test("returns the API's 404 for an unknown UUID", async () => {
    for (const [tool, message] of [
      ["get_link", 'The server at deployment.example answered: "Link not found"'],
      ["get_ios_app", "iOS app not found"],
      ["delete_android_app", "Android app not found"],
    ] as const) {
      const { structured } = await stage.callTool(tool, { id: randomUUID() });
      expect(structured.error).toMatchObject({ code: "not_found", status: 404, message });
    }
  });

  test("suggests the project whose name contains the given text", async () => {
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

function ignoreFilters(request: Request): Promise<Response> {
  const url = new URL(request.url);
  if (request.method === "GET") url.search = "";
  return world.fetch(new Request(url, request));
}

describe("delete_link", () => {
  test("deletes no link if a remote server ignores the path filter", async () => {
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

  test("deletes no link if a remote server lists two links with the same path", async () => {
    const twice: Handler = async (request) => {
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

test.each([
  ["shorten_link", () => ({ url: ids["spring"] }), "whole URL as url"],
  ["upsert_link", () => ({ path: `${linkHost}/spring` }), "path as path"],
])("%s sends no write if the server does not return the link's path", async (tool, args, what) => {
  const hidePaths: Handler = async (request) => {
    const response = await world.fetch(request);
    return new Response(
      (await response.text()).replaceAll(/"path":"[^"]*"/g, '"path":null'),
      response,
    );
  };
  await using other = await openStage({ send: hidePaths, key: world.key, known: { linkHost } });
  const { structured } = await other.callTool(tool, args());
  const message = `the path of this link is unknown; pass the link's ${what}`;
  expect(structured.error).toMatchObject({ code: "invalid_arguments", message });
  const created = (await stage.callTool("create_link", { path: `${linkHost}/` })).structured;
  expect(created).toMatchObject({ link: { path: expect.stringMatching(/./) } });
});

test("get_link finds a link only by its UUID if the key may not list links", async () => {
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
