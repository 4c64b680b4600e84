import { describe, expect, test } from "vitest";
import { createToolbox, UnknownTool } from "../../../src/mcp/tools/toolbox.ts";
import { answering, openStage, type Staging } from "../../support/stage.ts";

/** Tests the tools that the operator selects with WAYPOST_TOOLS and WAYPOST_MODE. */

function listSelectedTools(selection: string): readonly string[] {
  const names = selection === "" ? [] : selection.split(",");
  return createToolbox({ mode: "guarded", selection: names }).tools.map(({ name }) => name);
}

describe("the tool selection", () => {
  const all = listSelectedTools("");
  const access = "explain_access";
  const links = all.slice(0, 6);
  const short = ["shorten_link", "resolve_short_link"];
  const templates = all.filter((name) => /_template/.test(name));
  const bulk = ["plan_links", "apply_plan", "get_job", "list_jobs", "cancel_job", "export_links"];
  const checks = ["audit_links", "link_stats", "explain_link", "check_domain"];

  test.each([
    ["apps", [...all.filter((name) => /_app/.test(name)), access]],
    ["short_links", [...short, access]],
    ["projects", [...all.filter((name) => /_project/.test(name)), access]],
    ["links", [...links, ...checks, access]],
    ["templates", [...templates, access]],
    ["history", ["list_changes", "undo", access]],
    ["bulk", [...bulk, access]],
    ["get_link,short_links", ["get_link", ...short, access]],
    ["-delete_link", all.filter((name) => name !== "delete_link")],
    ["links,-delete_link", [...links.slice(0, 5), ...checks, access]],
    ["-links,-apps,-projects,-templates,-history", [...short, ...bulk, access]],
    ["-links,-apps,-projects,-bulk,-undo,-list_changes", [...short, ...templates, access]],
    ["bulk,-apply_plan,list_links", ["list_links", ...bulk.toSpliced(1, 1), access]],
    ["-bulk,export_links", ["export_links", access]],
    ["links,-explain_access", [...links, ...checks]],
  ])('"%s" contains exactly the selected tools', (selection, names) => {
    expect(listSelectedTools(selection)).toEqual(names);
  });

  test.each([
    ["delete_lnk", 'unknown tool or group "delete_lnk"; did you mean delete_link'],
    ["-short_link", 'unknown tool or group "short_link"; did you mean short_links'],
    ["links,Apps", 'unknown tool or group "Apps"; did you mean apps'],
  ])('"%s" is rejected with a suggestion', (selection, message) => {
    expect(() => listSelectedTools(selection)).toThrow(new UnknownTool(message));
  });

  test("is rejected with a list of all tools and groups if it contains an unknown name", () => {
    expect(() => listSelectedTools("kubernetes")).toThrow(
      /known: links, short_links, apps, .*list_links/,
    );
  });
});

test("a call to an unknown tool is rejected with a suggestion", async () => {
  await using stage = await openStage({ send: answering(200, {}), probe: "off" });
  await expect(stage.callTool("get_lnk", { id: "x" })).rejects.toThrow(
    'Unknown tool "get_lnk". Did you mean get_link?',
  );
});

test.each(["delete_link", "plan_links"])(
  "a call to %s is rejected in read-only mode",
  async (name) => {
    expect(await readRejection({ mode: "read-only" }, name)).toMatchObject({
      message: `This server is read-only, and ${name} makes or prepares changes.`,
      effect: "none",
      retry: "never",
      next: expect.stringContaining("WAYPOST_MODE is read-only"),
    });
  },
);

test("a call to a tool excluded by WAYPOST_TOOLS is rejected", async () => {
  expect(await readRejection({ selection: ["-delete_link"] }, "delete_link")).toMatchObject({
    message: "The operator's WAYPOST_TOOLS excludes delete_link.",
    retry: "never",
  });
});

async function readRejection(options: Partial<Staging>, name: string) {
  await using stage = await openStage({ send: answering(200, {}), probe: "off", ...options });
  const { structured } = await stage.callTool(name, { id: "x" });
  expect(stage.asked).toEqual([]);
  return structured.error;
}
