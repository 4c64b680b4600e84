import { describe, expect, test } from "vitest";
import { openForAll } from "../../support/open-for.ts";
import {
  openStage,
  ownerFacts,
  type Handler,
  type Stage,
  type Staging,
} from "../../support/stage.ts";
import { createWorld, type World } from "../../support/world.ts";

/** Tests results of successful calls with the official clients, which check the schemas. */

const linkHost = "http://default.localhost:8787";
const known = { facts: ownerFacts, linkHost };

let world: World;

openForAll(createWorld, async (opened) => {
  world = opened;
  for (const path of ["spring", "summer", "a folder/ä"]) {
    await world.call("POST", "/links", { body: { path, options: { shorten: path === "summer" } } });
  }
});

const open = (given: Partial<Staging> = {}): Promise<Stage> =>
  openStage({ send: world.fetch, key: world.key, known, ...given });

function alterAnswers(change: (body: Record<string, unknown>) => unknown): Handler {
  return async (request) => {
    const response = await world.fetch(request);
    return Response.json(change(JSON.parse(await response.text())), { status: response.status });
  };
}

const byPath = { sort: { field: "path", direction: "asc" } };

describe("list_links", () => {
  test("omits empty fields, and explains only once how to build a URL from a path", async () => {
    await using stage = await open();
    const { structured } = await stage.callTool("list_links", byPath);
    const [folder, spring] = structured.links;
    expect(structured.address).toBe(`${linkHost}/{path}`);
    expect(spring).toEqual({ id: expect.any(String), path: "spring", clicks: 0 });
    expect(folder.address).toBe(`${linkHost}/a%20folder/%C3%A4`);
    expect(JSON.stringify(structured)).not.toContain("null");
  });

  test("includes the fields that the call's filters use", async () => {
    await using stage = await open();
    const list = async (args: Record<string, unknown>) =>
      (await stage.callTool("list_links", args)).structured.links;
    const short = [{ field: "shortened_path", condition: "present", value: true }];
    expect(await list({ filters: short })).toMatchObject([{ shortened_path: expect.any(String) }]);
    expect((await list(byPath))[0]).not.toHaveProperty("shortened_path");
  });

  test("returns the number of pages and explains how to read the next page", async () => {
    await using stage = await open();
    const page = async (args: Record<string, unknown>, tool = "list_links") =>
      (await stage.callTool(tool, args)).structured;
    const first = await page({ ...byPath, limit: 2 });
    expect(first.meta).toEqual({ page: 1, limit: 2, count: 3, last: 2, from: 1, to: 2, next: 2 });
    expect(first.next).toBe("Page 1 of 2: call list_links with page 2 for more.");
    const second = await page({ ...byPath, limit: 2, page: 2 });
    expect(second.links).toHaveLength(1);
    expect(second.meta).toMatchObject({ previous: 1 });
    expect(second).not.toHaveProperty("next");
    const beyond = await page({ ...byPath, page: 9 });
    expect(beyond.next).toBe("There is 1 page; call list_links with page 1.");
    const filters = [{ field: "path", condition: "eq", value: "winter" }];
    expect(await page({ filters })).toMatchObject({
      links: [],
      next: "Nothing matches. Try fewer or other filters.",
    });
    expect((await page({}, "list_ios_apps")).ios_apps).toEqual([]);
  });

  test("omits unknown metadata and null fields of a remote server's list", async () => {
    await using stage = await open({
      era: "v1",
      send: alterAnswers(({ links, meta }) => ({
        links: (links as object[]).map((row) => ({ ...row, tags: ["a", null], owner: null })),
        meta: { ...(meta as object), previous: null, next: null, pages: 7, next_url: "/?page=2" },
        took_ms: 4,
      })),
    });
    const { structured } = await stage.callTool("list_links", { ...byPath, limit: 3 });
    expect(structured.meta).toEqual({ page: 1, limit: 3, count: 3, last: 1, from: 1, to: 3 });
    expect(structured.links[1]).toEqual({ id: expect.any(String), path: "spring", clicks: 0 });
    expect(structured).not.toHaveProperty("took_ms");
  });
});

describe("get_link and create_link", () => {
  test("show every field that is set, including a remote server's additional fields", async () => {
    await using plain = await open();
    const { id } = (await plain.callTool("list_links", byPath)).structured.links[1];
    const tags = { of: ["tomorrow"] };
    await using stage = await open({
      send: alterAnswers((body) => ({ ...body, tags, archived_at: null })),
    });
    const { link } = (await stage.callTool("get_link", { id })).structured;
    const address = `${linkHost}/spring`;
    expect(link).toEqual({ id, path: "spring", clicks: 0, tags, address });
  });

  test("show no URL if the link host is unknown", async () => {
    await using stage = await open({ known: { facts: ownerFacts } });
    const { structured } = await stage.callTool("get_link", { id: "spring" });
    expect(structured.link).not.toHaveProperty("address");
  });

  test("show a working URL whether or not the remote server encodes the path", async () => {
    for (const path of ["/spring", "spring", "spr%69ng"]) {
      await using stage = await open({ send: alterAnswers((body) => ({ ...body, path })) });
      const { structured } = await stage.callTool("create_link", {});
      expect(structured.link).toMatchObject({ path, address: `${linkHost}/spring` });
    }
    await using stage = await open({
      send: alterAnswers((body) => ({ ...body, path: "a\ud800" })),
    });
    const { structured } = await stage.callTool("create_link", {});
    expect(structured.link.address).toBe(`${linkHost}/a%EF%BF%BD`);
  });
});

describe("a tool result", () => {
  test("has one text block, and contains an error only if the call failed", async () => {
    await using stage = await open();
    const result = await stage.client.callTool({ name: "get_link", arguments: { id: "spring" } });
    expect(result.content).toEqual([{ type: "text", text: expect.any(String) }]);
    expect(result).not.toHaveProperty("isError", true);
    const failed = await stage.client.callTool({ name: "get_link", arguments: { id: "none" } });
    expect(failed).toMatchObject({ isError: true, structuredContent: { error: {} } });
    expect(Object.keys(failed.structuredContent ?? {})).toEqual(["error"]);
  });

  test("contains an ellipsis in place of content that is nested too deeply", async () => {
    const deep = (levels: number): unknown => (levels === 0 ? 1 : { in: [deep(levels - 1)] });
    await using stage = await open({
      send: alterAnswers((body) => ({ ...body, extra: deep(2000) })),
    });
    const { isError, text } = await stage.callTool("get_link", { id: "spring" });
    expect([isError, text.includes('"…"')]).toEqual([false, true]);
    expect(stage.reported).toEqual([]);
  });
});

test("the result of a deletion contains the deleted record's name", async () => {
  await using stage = await open();
  const bundle_id = "com.example.gone";
  await stage.callTool("register_ios_app", { bundle_id, team_id: "ABCDE12345", name: "Gone" });
  const { structured } = await stage.callTool("delete_ios_app", { id: bundle_id });
  const change = expect.objectContaining({ id: expect.any(String) });
  const deleted = { id: expect.any(String), name: "Gone", bundle_id };
  expect(structured).toEqual({ deleted, change });
  await stage.callTool("create_link", { path: "gone" });
  const link = (await stage.callTool("delete_link", { id: "gone" })).structured;
  expect(link).toEqual({ deleted: { id: expect.any(String), path: "gone" }, change });
});
