import { describe, expect, test } from "vitest";
import { budgets } from "../../../src/contract/budgets.ts";
import { paging } from "../../../src/contract/limits.ts";
import { openForAll } from "../../support/open-for.ts";
import { answering, openStage, ownerFacts, type Stage, type Staging } from "../../support/stage.ts";
import { createWorld, type World } from "../../support/world.ts";

/** What can be read by address, through the official clients of both lines. */

let world: World;
const ids: Record<string, string> = {};

openForAll(createWorld, async (opened) => {
  world = opened;
  for (const path of ["spring", "spring/new shoes"]) {
    ids[path] = (await world.call("POST", "/links", { body: { path } })).body.id;
  }
  const ios_app = { bundle_id: "com.example.app", team_id: "ABCDE12345" };
  await world.call("POST", "/ios_apps", { body: { ios_app } });
  const android_app = { package_name: "com.example.app", fingerprints: ["AA:BB"] };
  await world.call("POST", "/android_apps", { body: { android_app } });
});

const open = (given: Partial<Staging> = {}) =>
  openStage({ send: world.fetch, key: world.key, known: { facts: ownerFacts }, ...given });

async function read({ client }: Stage, uri: string) {
  const { contents } = await client.readResource({ uri });
  const [content] = contents as readonly { uri: string; mimeType?: string; text: string }[];
  expect(contents).toHaveLength(1);
  expect(content).toMatchObject({ uri, mimeType: "application/json" });
  return JSON.parse(content?.text ?? "");
}

async function listTemplates({ client }: Stage): Promise<readonly string[]> {
  const { resourceTemplates } = await client.listResourceTemplates();
  return resourceTemplates.map(({ uriTemplate }) => uriTemplate);
}

describe.each(["v1", "legacy", "modern"] as const)("a client of %s", (era) => {
  test("finds the access of its key and the limits of the API", async () => {
    await using stage = await open({ era });
    const { resources } = await stage.client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([
      "waypost://access",
      "waypost://limits",
      "ui://waypost/page-template",
    ]);
    for (const { title, description, name } of resources) {
      expect([title, description, name]).toEqual(Array(3).fill(expect.any(String)));
    }
    const { access } = await read(stage, "waypost://access");
    expect(access).toEqual((await stage.callTool("explain_access")).structured.access);
    const { limits } = await read(stage, "waypost://limits");
    expect(limits).toMatchObject({ budgets, paging, body_bytes: 1024 * 1024 });
  });

  test("reads one resource by whatever tells it", async () => {
    await using stage = await open({ era });
    expect(await listTemplates(stage)).toEqual([
      "waypost://links/{id}",
      "waypost://ios_apps/{id}",
      "waypost://android_apps/{id}",
      "waypost://plans/{id}/{page}",
      "waypost://exports/{id}/{page}",
    ]);
    for (const name of ["spring%2Fnew%20shoes", "spring/new%20shoes", ids["spring/new shoes"]]) {
      const { link } = await read(stage, `waypost://links/${name}`);
      expect(link).toMatchObject({ path: "spring/new shoes", id: ids["spring/new shoes"] });
    }
    const { ios_app } = await read(stage, "waypost://ios_apps/com.example.app");
    expect(ios_app.team_id).toBe("ABCDE12345");
    const { android_app } = await read(stage, "waypost://android_apps/com.example.app");
    expect(android_app.fingerprints).toEqual(["AA:BB"]);
  });

  test.each([
    "waypost://links/winter",
    "waypost://links/00000000-0000-4000-8000-000000000000",
    "waypost://links/%E0%A4%A",
    "waypost://links/",
    "waypost://short_links/a",
    "waypost://nothing",
    "https://a.example/links/spring",
    "file:///etc/passwd",
  ])("is told that there is no %s", async (uri) => {
    await using stage = await open({ era });
    await expect(stage.client.readResource({ uri })).rejects.toThrow("There is no such resource.");
    expect(stage.reported).toEqual([]);
  });

  test("is told why a resource cannot be read", async () => {
    await using own = await open({ era });
    const project = own.client.readResource({ uri: "waypost://projects/default" });
    await expect(project).rejects.toThrow("projects need a master API key");
    await using stage = await open({ era, send: answering(401, { error: "No." }) });
    const reading = stage.client.readResource({ uri: `waypost://links/${ids["spring"]}` });
    await expect(reading).rejects.toMatchObject({
      message: expect.stringContaining("No."),
      data: { error: { code: "unauthorized", effect: "none" } },
    });
  });
});

test("a view is there for whoever has its tool, and for nobody else", async () => {
  const uri = "ui://waypost/page-template";
  await using stage = await open();
  const { contents } = await stage.client.readResource({ uri });
  expect(contents).toMatchObject([{ uri, text: expect.stringContaining("<html") }]);
  await using without = await open({ selection: ["links"] });
  const { resources } = await without.client.listResources();
  expect(resources.map((resource) => resource.uri)).not.toContain(uri);
  await expect(without.client.readResource({ uri })).rejects.toThrow("There is no such resource.");
});

describe("the templates", () => {
  test("are those of the tools that the key has", async () => {
    const facts = { ...ownerFacts, scopes: ["ios_apps.show"] } as const;
    await using stage = await open({ known: { facts } });
    expect(await listTemplates(stage)).toEqual(["waypost://ios_apps/{id}"]);
    await expect(stage.client.readResource({ uri: "waypost://links/spring" })).rejects.toThrow();
    await using masters = await open({
      key: world.master,
      known: { facts: { ...ownerFacts, kind: "master" } },
    });
    expect(await listTemplates(masters)).toEqual(["waypost://projects/{id}"]);
    const { project } = await read(masters, `waypost://projects/${world.project.id}`);
    expect(project.subdomain).toBe("default");
  });

  test("and that the operator left in", async () => {
    await using stage = await open({ selection: ["apps", "-get_ios_app"] });
    expect(await listTemplates(stage)).toEqual(["waypost://android_apps/{id}"]);
    await using exporting = await open({ selection: ["bulk"], mode: "read-only" });
    expect(await listTemplates(exporting)).toEqual(["waypost://exports/{id}/{page}"]);
    await expect(stage.client.readResource({ uri: "waypost://links/spring" })).rejects.toThrow();
  });
});
