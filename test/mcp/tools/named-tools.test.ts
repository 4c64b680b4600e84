import { describe, expect, test } from "vitest";
import { scopes, type Scope } from "../../../src/contract/rights.ts";
import type { Mode } from "../../../src/contract/rights.ts";
import { createToolbox } from "../../../src/mcp/tools/toolbox.ts";
import { createAssistantWorld } from "../../support/assistant-world.ts";
import { answering, openStage, ownerFacts } from "../../support/stage.ts";

/** A text may name a tool only if every key that sees the text can call the tool. */

const { tools: all } = createToolbox({ mode: "full", selection: [] });
const names = new Set(all.map(({ name }) => name));

type ToolSettings = {
  readonly mode?: Mode;
  readonly selection?: string[];
  readonly scopes?: Scope[];
};

const configurations: readonly ToolSettings[] = [
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

test.each(configurations)(
  "no description, prompt or error names a tool hidden by %j",
  async (given) => {
    const send = answering(404, { error: "Link not found" });
    await using stage = await openStage({ send, known: { facts: ownerFacts }, ...given });
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
    expect(listHiddenToolNames(texts, visible)).toEqual([]);
    for (const { name, inputSchema } of tools) {
      const target = "id" in (inputSchema.properties ?? {}) ? { id: "nowhere" } : {};
      for (const args of [target, { colour: "red" }]) {
        const { next = "", problems = [] } =
          (await stage.callTool(name, args)).structured.error ?? {};
        expect([name, listHiddenToolNames(JSON.stringify([next, problems]), visible)]).toEqual([
          name,
          [],
        ]);
      }
    }
  },
);

describe("the result of a tool call", () => {
  const url = "http://shop.example";

  test("names no other tool when describing a plan, a job or an undo", async () => {
    await using assistant = await createAssistantWorld({ mode: "full" });
    const call = async (tool: string, args: Record<string, unknown>) => {
      const { structured } = await assistant.callTool(tool, args);
      const { writer: _writer, ...shown } = {
        ...structured,
        ...structured.job,
        ...structured.plan,
      };
      expect([tool, listHiddenToolNames(JSON.stringify(shown), new Set([tool]))]).toEqual([
        tool,
        [],
      ]);
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

  test("names no other tool when describing links and their problems", async () => {
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
      const text = JSON.stringify(structured);
      expect([tool, listHiddenToolNames(text, new Set([tool]))]).toEqual([tool, []]);
    }
  });
});

function listHiddenToolNames(text: string, visible: ReadonlySet<string>): readonly string[] {
  const words = new Set(text.match(/[a-z]+(?:_[a-z]+)+/g) ?? []);
  return [...words].filter((word) => names.has(word) && !visible.has(word));
}
