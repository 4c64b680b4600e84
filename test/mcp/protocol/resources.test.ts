import { describe, expect, test } from "vitest";
import { answering, openStage, ownerFacts, type Stage, type Staging } from "../../support/stage.ts";

/** Tests the resources with the official clients of both versions. */

const view = "ui://waypost/page-template";
const plans = "waypost://plans/{id}/{page}";
const exports = "waypost://exports/{id}/{page}";

const open = (given: Partial<Staging> = {}) =>
  openStage({ send: answering(500, {}), known: { facts: ownerFacts }, ...given });

async function listTemplates({ client }: Stage): Promise<readonly string[]> {
  const { resourceTemplates } = await client.listResourceTemplates();
  return resourceTemplates.map(({ uriTemplate }) => uriTemplate);
}

describe.each(["v1", "modern"] as const)("a %s client", (era) => {
  test("lists preview_template's view, and resource templates for plans and exports", async () => {
    await using stage = await open({ era });
    const { resources } = await stage.client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([view]);
    for (const { title, description, name } of resources) {
      expect([title, description, name]).toEqual(Array(3).fill(expect.any(String)));
    }
    expect(await listTemplates(stage)).toEqual([plans, exports]);
  });

  test.each([
    "waypost://plans/",
    "waypost://plans/%E0%A4%A/1",
    "waypost://exports/nothing",
    "file:///etc/passwd",
  ])("gets an error for the unknown resource %s", async (uri) => {
    await using stage = await open({ era });
    await expect(stage.client.readResource({ uri })).rejects.toThrow(
      "This resource does not exist.",
    );
    expect(stage.reported).toEqual([]);
  });
});

test("the UI resource of preview_template exists only if the tool is available", async () => {
  await using stage = await open();
  const { contents } = await stage.client.readResource({ uri: view });
  expect(contents).toMatchObject([{ uri: view, text: expect.stringContaining("<html") }]);
  await using without = await open({ selection: ["links"] });
  expect((await without.client.listResources()).resources).toEqual([]);
  const reading = without.client.readResource({ uri: view });
  await expect(reading).rejects.toThrow("This resource does not exist.");
});

test("a resource template is listed only if the tool that uses it is available", async () => {
  const facts = { ...ownerFacts, scopes: ["ios_apps.show"] } as const;
  await using stage = await open({ known: { facts } });
  expect(await listTemplates(stage)).toEqual([]);
  await using exporting = await open({ selection: ["bulk"], mode: "read-only" });
  expect(await listTemplates(exporting)).toEqual([exports]);
});
