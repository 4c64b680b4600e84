import { describe, expect, test } from "vitest";
import { scopes, type Scope } from "../../../src/contract/scopes-and-roles.ts";
import type { Mode } from "../../../src/mcp/approval/mode.ts";
import { createToolbox } from "../../../src/mcp/tools/toolbox.ts";
import { createAssistantWorld } from "../../support/assistant-world.ts";
import { answering, openStage, ownerFacts } from "../../support/stage.ts";

/** A sentence names a tool only if every key that can see the sentence can call the tool. */

const { tools: all } = createToolbox({ mode: "full", selection: [] });
const names = new Set(all.map(({ name }) => name));

type Given = { readonly mode?: Mode; readonly selection?: string[]; readonly scopes?: Scope[] };

const configurations: readonly Given[] = [
  { mode: "read-only" },
  { selection: ["links"] },
  { selection: ["get_link"] },
  { selection: ["bulk"] },
  { selection: ["templates"] },
  { selection: ["-links"] },
  { selection: ["-bulk", "-history"] },
  { selection: ["-apply_plan", "-explain_access", "-list_changes", "-update_link"] },
  { selection: ["-plan_links", "-get_job", "-list_jobs", "-list_links", "-get_link"] },
  ...scopes.map((scope) => ({ scopes: [scope] })),
];

describe.each(configurations)("with %j", (given) => {
  const open = () =>
    openStage({
      send: answering(404, { error: "Link not found" }),
      known: { facts: ownerFacts },
      ...given,
    });

  test("no tool's texts, instructions or prompts name a tool that the key lacks", async () => {
    await using stage = await open();
    const tools = await stage.listTools();
    const visible = new Set(tools.map(({ name }) => name));
    const { prompts } = await stage.client.listPrompts();
    const written = await Promise.all(
      prompts.map(({ name, arguments: known = [] }) => {
        const given = Object.fromEntries(known.map((argument) => [argument.name, "x"]));
        return stage.client.getPrompt({ name, arguments: given });
      }),
    );
    const texts = JSON.stringify([tools, stage.client.getInstructions(), written]);
    expect(listStrays(texts, visible)).toEqual([]);
  });

  test("no refusal names a tool that the key lacks", async () => {
    await using stage = await open();
    const tools = await stage.listTools();
    const visible = new Set(tools.map(({ name }) => name));
    for (const { name, inputSchema } of tools) {
      const given = "id" in (inputSchema.properties ?? {}) ? { id: "nowhere" } : {};
      for (const args of [given, { colour: "red" }]) {
        const { structured } = await stage.callTool(name, args);
        const { next = "", problems = [] } = structured.error ?? {};
        const told = JSON.stringify([next, problems]);
        expect([name, listStrays(told, visible)]).toEqual([name, []]);
      }
    }
  });
});

describe("a result names no tool but the one that was called", () => {
  const url = "http://shop.example";

  test("of plans, jobs and undo", async () => {
    await using assistant = await createAssistantWorld({ mode: "full" });
    const call = async (tool: string, args: Record<string, unknown>) => {
      const { structured } = await assistant.callTool(tool, args);
      const { writer: _writer, ...told } = { ...structured, ...structured.job, ...structured.plan };
      expect([tool, listStrays(JSON.stringify(told), new Set([tool]))]).toEqual([tool, []]);
      return structured;
    };
    const rows = [
      { path: "a", url },
      { path: "b", url },
    ];
    const { plan } = await call("plan_links", { operation: "upsert", rows });
    const { job } = await call("apply_plan", { plan_id: plan.id });
    await call("get_job", { job_id: job.id });
    await call("get_job", { job_id: job.id, page: 1 });
    await call("cancel_job", { job_id: job.id });
    await call("undo", {});
    await call("apply_plan", { plan_id: "none" });
    await call("get_job", { job_id: "none" });
    await call("undo", { change_id: "none" });
  });

  test("of links and their problems", async () => {
    await using assistant = await createAssistantWorld({ mode: "full" });
    for (const [tool, args] of [
      ["create_link", { path: "a", url, campaign_token: "a".repeat(31), provider_token: "1" }],
      ["update_link", { id: "a", ios_deferred_deep_linking_enabled: true }],
      ["explain_link", { id: "a" }],
      ["get_link", { id: "nowhere" }],
      ["get_ios_app", { id: "nowhere" }],
      ["list_links", { filters: [{ field: "path", condition: "eq", value: "none" }] }],
    ] as const) {
      const { structured } = await assistant.callTool(tool, args);
      const told = JSON.stringify(structured);
      expect([tool, listStrays(told, new Set([tool]))]).toEqual([tool, []]);
    }
  });

  test.each([
    [{ selection: [] }, true],
    [{ selection: ["-plan_links"] }, false],
    [{ selection: ["links"] }, false],
  ])("with %j an audit has a fix only if the key can plan", async (given, hasFix) => {
    await using assistant = await createAssistantWorld({ mode: "full", ...given });
    await assistant.plant("link", { path: "a", url });
    const { structured } = await assistant.callTool("audit_links");
    const found = structured.audit.groups.find(({ code }: { code: string }) => {
      return code === "http_address";
    });
    expect("fix" in found).toBe(hasFix);
  });
});

/** The words of a text that are names of tools, but of none that is visible. */
function listStrays(text: string, visible: ReadonlySet<string>): readonly string[] {
  const words = new Set(text.match(/[a-z]+(?:_[a-z]+)+/g) ?? []);
  return [...words].filter((word) => names.has(word) && !visible.has(word));
}
