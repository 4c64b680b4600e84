import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listToolEndpoints } from "../../../src/contract/index.ts";
import { describeTools } from "../../../src/mcp/protocol/server.ts";
import { descriptions } from "../../../src/mcp/tools/endpoints/endpoint-tools.ts";
import { createToolbox, UnknownTool } from "../../../src/mcp/tools/toolbox.ts";
import {
  answering,
  openStage,
  ownerFacts,
  type ShownTool,
  type Stage,
} from "../../support/stage.ts";

/** The tools against the words of design.md, "Tools", copied here by hand. */

const link = [
  "name",
  "path",
  "url",
  "social_title",
  "social_description",
  "social_image_url",
  "ios_fallback_url",
  "android_fallback_url",
  "enable_forced_redirect",
  "referrer",
  "ios_deferred_deep_linking_enabled",
  "provider_token",
  "campaign_token",
  "ios_app",
  "android_app",
  "options",
];
const iosApp = ["bundle_id", "team_id", "app_store_id", "name", "clip_bundle_id", "custom_scheme"];
const androidApp = ["package_name", "fingerprints", "name", "custom_scheme"];
const project = ["name", "subdomain", "custom_domain"];
const template = ["body", "css"];
const previewed = ["link_id", "platform", "html"];
const filtered = ["filters", "sort", "page", "limit"];
const found = ["filters", "search", "sort", "page", "limit", "after"];
const stats = ["id", "filters", "from", "to", "by", "compare", "time_zone"];
const sources = ["rows", "csv", "filters", "search"];
const rules = ["replace", "add_query", "path_prefix"];

/** readOnly, destructive, idempotent; what every tool works on is one known deployment. */
const read = [true, false, true];
const create = [false, false, false];
const overwrite = [false, true, true];
const destroy = [false, true, true];
/** Reads alone, and is of no use to somebody who may change nothing. */
const prepare = [...read];
/** To stop what goes on destroys nothing. */
const stop = [false, false, true];
/** A second time is one version more. */
const publish = [false, true, false];

type Line = readonly [
  tool: string,
  args: readonly string[],
  required: readonly string[],
  result: readonly string[],
  hints: readonly boolean[],
];

const design: readonly Line[] = [
  ["list_links", found, [], ["links", "meta", "next"], read],
  ["create_link", link, [], ["link"], create],
  ["upsert_link", link, ["path"], ["link"], overwrite],
  ["get_link", ["id", "qr"], ["id"], ["link"], read],
  ["update_link", ["id", ...link], ["id"], ["link"], overwrite],
  ["delete_link", ["id"], ["id"], ["deleted"], destroy],
  ["shorten_link", ["url", "prefix"], ["url"], ["link"], create],
  ["resolve_short_link", ["url"], ["url"], ["link"], read],
  ["list_ios_apps", filtered, [], ["ios_apps", "meta", "next"], read],
  ["get_ios_app", ["id"], ["id"], ["ios_app"], read],
  ["register_ios_app", iosApp, ["bundle_id", "team_id"], ["ios_app"], create],
  ["update_ios_app", ["id", ...iosApp], ["id"], ["ios_app"], overwrite],
  ["delete_ios_app", ["id"], ["id"], ["deleted"], destroy],
  ["list_android_apps", filtered, [], ["android_apps", "meta", "next"], read],
  ["get_android_app", ["id"], ["id"], ["android_app"], read],
  ["register_android_app", androidApp, ["package_name", "fingerprints"], ["android_app"], create],
  ["update_android_app", ["id", ...androidApp], ["id"], ["android_app"], overwrite],
  ["delete_android_app", ["id"], ["id"], ["deleted"], destroy],
  ["list_projects", ["page", "limit"], [], ["projects", "meta", "next"], read],
  ["create_project", project, [], ["project"], create],
  ["get_project", ["id"], ["id"], ["project"], read],
  ["update_project", ["id", ...project], ["id"], ["project"], overwrite],
  ["delete_project", ["id"], ["id"], ["deleted"], destroy],
  ["save_template", template, [], ["page_template"], overwrite],
  ["publish_template", template, [], ["page_template"], publish],
  ["unpublish_template", [], [], ["page_template"], destroy],
  ["list_template_versions", [], [], ["versions"], read],
  ["get_template_version", ["id"], ["id"], ["version"], read],
  ["restore_template_version", ["id"], ["id"], ["page_template"], destroy],
  ["preview_template", [...template, ...previewed], [], ["preview_url", "html", "problems"], read],
  [
    "plan_links",
    ["operation", ...sources, "changes", ...rules, "skip_invalid", "undo"],
    [],
    ["plan"],
    prepare,
  ],
  ["apply_plan", ["plan_id"], ["plan_id"], ["job"], destroy],
  ["get_job", ["job_id", "page"], ["job_id"], ["job"], read],
  ["list_jobs", ["page"], [], ["jobs", "meta"], read],
  ["cancel_job", ["job_id"], ["job_id"], ["job"], stop],
  ["export_links", ["filters", "search", "format"], [], ["export"], read],
  ["list_changes", ["target", "page"], [], ["changes", "meta"], read],
  ["undo", ["change_id"], [], ["change", "plan"], publish],
  ["audit_links", ["filters", "page"], [], ["audit", "meta"], read],
  ["link_stats", stats, [], ["stats"], read],
  ["explain_link", [...link, "id"], [], ["visits", "problems"], read],
  ["check_domain", ["host"], [], ["domain"], read],
  ["explain_access", [], [], ["access"], read],
];

/** What is no endpoint's own. */
const handwritten = [
  "plan_links",
  "apply_plan",
  "get_job",
  "list_jobs",
  "cancel_job",
  "export_links",
  "list_changes",
  "undo",
  "audit_links",
  "explain_link",
  "check_domain",
  "explain_access",
];

/** What no deployment has but our own service. */
const ours = ["link_stats"];

let stage: Stage;
let ownTools: readonly ShownTool[];
let tools: readonly ShownTool[];

beforeAll(async () => {
  stage = await openStage({ send: answering(200, {}), probe: "off", era: "v1" });
  tools = await stage.listTools();
  await using own = await openStage({
    send: answering(200, {}),
    probe: "off",
    known: { facts: ownerFacts },
  });
  ownTools = await own.listTools();
});

afterAll(() => stage[Symbol.asyncDispose]());

/** What a deployment answers may have parts that cannot be read. */
const tellProblems: ReadonlySet<string> = new Set([
  ...listToolEndpoints()
    .filter(({ response, type }) => response !== null && type === undefined)
    .map(({ tool }) => tool),
  "export_links",
]);

describe("the tools", () => {
  test("are those of design.md and no others, in one order for ever", () => {
    const own = tools.map(({ name }) => name);
    expect(own.toSpliced(own.indexOf("explain_link"), 0, ...ours)).toEqual(
      design.map(([name]) => name),
    );
  });

  test("are one for each entry of the contract", () => {
    const entries = listToolEndpoints().map(({ tool }) => tool);
    const others = tools.map(({ name }) => name).filter((name) => !entries.includes(name));
    expect(new Set(entries).size).toBe(entries.length);
    expect(others).toEqual(handwritten);
  });

  test.each(design)("%s takes, answers and promises what design.md says", (name, ...line) => {
    const [args, required, result, [readOnlyHint, destructiveHint, idempotentHint]] = line;
    const shown = find(name);
    expect(Object.keys(shown.inputSchema.properties ?? {})).toEqual(args);
    expect(shown.inputSchema.required ?? []).toEqual(required);
    const told = [...result, ...(tellProblems.has(name) ? ["problems"] : []), "error"];
    expect(Object.keys(shown.outputSchema?.properties ?? {})).toEqual(told);
    expect(shown.annotations).toEqual({
      readOnlyHint,
      destructiveHint,
      idempotentHint,
      openWorldHint: false,
    });
  });

  test("have a title of their own and one or two lines of description", () => {
    expect(new Set(tools.map(({ title }) => title)).size).toBe(tools.length);
    for (const { name, title, description = "" } of tools) {
      expect(title, name).toMatch(/^[A-Z][^.]+$/);
      expect(description, name).toMatch(/^[A-Z].*\.$/);
      expect(description.length, name).toBeLessThanOrEqual(160);
    }
  });

  test("speak of no tool that is not there", () => {
    const words = tools.flatMap(({ description = "" }) => description.match(/\b[a-z]+_[a-z_]+/g));
    // Some speak of a member of their result.
    const names = new Set(design.flatMap(([name, , , result]) => [name, ...result]));
    expect(words.filter((word) => word !== null && !names.has(word))).toEqual([]);
    expect(Object.keys(descriptions)).toHaveLength(listToolEndpoints().length);
  });

  test.each(["plan_links", "export_links"])(
    "say which filters %s takes where list_links does not say so",
    async (name) => {
      await using alone = await openStage({
        send: answering(200, {}),
        probe: "off",
        selection: ["bulk"],
      });
      const spelled = JSON.stringify(find("list_links").inputSchema.properties?.["filters"]);
      const shown = (await alone.listTools()).find((tool) => tool.name === name);
      expect(JSON.stringify(shown?.inputSchema.properties?.["filters"])).toBe(spelled);
      expect(shown?.description).not.toContain("list_links");
      const beside = find(name);
      expect(beside.description).toMatch(/ Filters as in list_links\.$/);
      expect(JSON.stringify(beside.inputSchema.properties?.["filters"])).not.toContain("enum");
      expect(beside.inputSchema.properties?.["filters"]).toMatchObject({
        items: { required: ["field", "condition", "value"] },
      });
    },
  );

  test("are only those that change nothing in read-only mode", async () => {
    await using other = await openStage({
      send: answering(200, {}),
      probe: "off",
      mode: "read-only",
    });
    const reading = design.filter(([, , , , hints]) => hints === read).map(([name]) => name);
    expect(await other.listNames()).toEqual(reading.filter((name) => !ours.includes(name)));
  });

  test("are described once and not again for each list", () => {
    const { tools: all } = createToolbox({ mode: "guarded", selection: [] });
    const describe = () => describeTools(all);
    const [first, second] = [describe(), describe()];
    for (const [index, { inputSchema, outputSchema }] of first.entries()) {
      expect(second[index]?.inputSchema).toBe(inputSchema);
      expect(second[index]?.outputSchema).toBe(outputSchema);
    }
  });

  test("are listed without asking the deployment anything", () => {
    expect(stage.asked).toEqual([]);
  });
});

describe("a selection", () => {
  const all = design.map(([name]) => name);
  const templates = all.filter((name) => /_template/.test(name));
  const bulk = handwritten.slice(0, 6);
  const history = handwritten.slice(6, 8);
  const looks = ["audit_links", "link_stats", "explain_link", "check_domain"];

  test.each([
    ["apps", [...all.filter((name) => /_app/.test(name)), "explain_access"]],
    ["short_links", ["shorten_link", "resolve_short_link", "explain_access"]],
    ["projects", [...all.filter((name) => /_project/.test(name)), "explain_access"]],
    ["links", [...all.slice(0, 6), ...looks, "explain_access"]],
    ["get_link", ["get_link", "explain_access"]],
    ["get_link,short_links", ["get_link", ...all.slice(6, 8), "explain_access"]],
    ["-delete_link", all.filter((name) => name !== "delete_link")],
    ["links,-delete_link", [...all.slice(0, 5), ...looks, "explain_access"]],
    ["templates", [...templates, "explain_access"]],
    ["templates,-publish_template", [...templates.toSpliced(1, 1), "explain_access"]],
    ["-links,-apps,-projects,-templates,-history", [...all.slice(6, 8), ...bulk, "explain_access"]],
    [
      "-links,-apps,-projects,-bulk,-undo,-list_changes",
      [...all.slice(6, 8), ...templates, "explain_access"],
    ],
    ["history", [...history, "explain_access"]],
    ["bulk", [...bulk, "explain_access"]],
    ["bulk,-apply_plan,list_links", ["list_links", ...bulk.toSpliced(1, 1), "explain_access"]],
    ["-bulk,export_links", ["export_links", "explain_access"]],
    ["-links,get_link", ["get_link", "explain_access"]],
    ["links,-explain_access", [...all.slice(0, 6), ...looks]],
  ])("%s shows just that", (selection, names) => {
    expect(choose(selection)).toEqual(names);
  });

  test.each([
    ["delete_lnk", 'unknown tool or group "delete_lnk"; did you mean delete_link'],
    ["-short_link", 'unknown tool or group "short_link"; did you mean short_links'],
    ["links,Apps", 'unknown tool or group "Apps"; did you mean apps'],
  ])("%s is refused with the nearest name", (selection, message) => {
    expect(() => choose(selection)).toThrow(new UnknownTool(message));
  });

  test("of what is like nothing names all that there is", () => {
    expect(() => choose("kubernetes")).toThrow(/known: links, short_links, apps, .*list_links/);
  });
});

test("a tool that is not there is a broken call, and the nearest name is told", async () => {
  await expect(stage.callTool("get_lnk", { id: "x" })).rejects.toThrow(
    'Unknown tool "get_lnk". Did you mean get_link?',
  );
});

describe("a tool that the operator leaves out", () => {
  test.each(["delete_link", "create_link", "plan_links", "undo", "publish_template"])(
    "by the mode read-only, as %s, says that the mode is read-only",
    async (name) => {
      expect(await refuseIn({ mode: "read-only" }, name)).toMatchObject({
        message: `This server is read-only, and ${name} makes or prepares changes.`,
        effect: "none",
        retry: "never",
        next: expect.stringContaining("WAYPOST_MODE is read-only"),
      });
    },
  );

  test("by its name says that it is left out", async () => {
    expect(await refuseIn({ selection: ["-delete_link"] }, "delete_link")).toMatchObject({
      message: "The operator's WAYPOST_TOOLS excludes delete_link.",
      retry: "never",
    });
  });
});

async function refuseIn(options: Partial<Parameters<typeof openStage>[0]>, name: string) {
  await using other = await openStage({ send: answering(200, {}), probe: "off", ...options });
  const { structured } = await other.callTool(name, { id: "x" });
  expect(other.asked).toEqual([]);
  return structured.error;
}

function find(name: string): ShownTool {
  const shown = [...tools, ...ownTools].find((tool) => tool.name === name);
  if (shown === undefined) throw new Error(`there is no ${name}`);
  return shown;
}

function choose(selection: string): readonly string[] {
  const { tools } = createToolbox({ mode: "guarded", selection: selection.split(",") });
  return tools.map(({ name }) => name);
}
