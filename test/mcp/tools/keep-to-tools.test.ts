import { describe, expect, test } from "vitest";
import { scopes, type Scope } from "../../../src/contract/scopes-and-roles.ts";
import type { Mode } from "../../../src/mcp/approval/mode.ts";
import { keepNextToTools, keepToTools } from "../../../src/mcp/tools/keep-to-tools.ts";
import { createToolbox } from "../../../src/mcp/tools/toolbox.ts";
import { answering, openStage, ownerFacts } from "../../support/stage.ts";

/** What an assistant is told leads to tools that it has. */

const { names } = createToolbox({ mode: "full", selection: [] });
const isAbsent = (name: string) => name === "list_links" || name === "plan_links";

test.each([
  ["Call list_links first. Then tell the user.", "Then tell the user."],
  ["Change one link. For many: plan_links.", "Change one link."],
  ["Show it to the user; plan_links does it again.", "Show it to the user."],
  ["Call get_link with its id.", "Call get_link with its id."],
  ["Find the right id with list_links.", ""],
])("%j becomes %j", (text, kept) => {
  expect(keepToTools(text, isAbsent)).toBe(kept);
});

test("a next of which nothing is left says to tell the user, and nothing else is touched", () => {
  const next = "Find the right id with list_links.";
  const result = { next, links: [{ name: next }], job: { next: `${next} Wait.`, what: next } };
  expect(keepNextToTools(result, isAbsent)).toEqual({
    next: "Tell the user.",
    links: [{ name: next }],
    job: { next: "Wait.", what: next },
  });
});

const leadTo = (tool: string) => ({ tool, arguments: { next: "plan_links", rows: [] } });

test("a call of a tool that is not there is left out, and whatever else is told stays", () => {
  const [gone, kept] = [leadTo("plan_links"), leadTo("audit_links")];
  const groups = [{ code: "a", fix: gone }, { code: "b", fix: kept }, { code: "c" }];
  const result = { audit: { checked: 1, groups, next: kept }, fix: gone, problems: [{ fix: "a" }] };
  expect(keepNextToTools(result, isAbsent)).toEqual({
    audit: {
      checked: 1,
      groups: [{ code: "a" }, { code: "b", fix: kept }, { code: "c" }],
      next: kept,
    },
    problems: [{ fix: "a" }],
  });
});

type Given = { readonly mode?: Mode; readonly selection?: string[]; readonly scopes?: Scope[] };

const configurations: readonly Given[] = [
  { mode: "read-only" },
  { selection: ["links"] },
  { selection: ["get_link"] },
  { selection: ["bulk"] },
  { selection: ["templates"] },
  { selection: ["-links"] },
  { selection: ["-bulk", "-history"] },
  ...scopes.map((scope) => ({ scopes: [scope] })),
];

describe.each(configurations)("with %j", (given) => {
  const open = () =>
    openStage({
      send: answering(404, { error: "Link not found" }),
      known: { facts: ownerFacts },
      ...given,
    });

  test("no tool's texts, instructions or prompts name a tool that is not there", async () => {
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

  test("no refusal leads to a tool that is not there", async () => {
    await using stage = await open();
    const tools = await stage.listTools();
    const visible = new Set(tools.map(({ name }) => name));
    for (const { name, inputSchema } of tools) {
      const given = "id" in (inputSchema.properties ?? {}) ? { id: "nowhere" } : {};
      for (const args of [given, { colour: "red" }]) {
        const { structured } = await stage.callTool(name, args);
        expect([name, listStrays(structured.error?.next ?? "", visible)]).toEqual([name, []]);
      }
    }
  });
});

/** The words of a text that are names of tools, but of none that is visible. */
function listStrays(text: string, visible: ReadonlySet<string>): readonly string[] {
  const words = new Set(text.match(/[a-z]+(?:_[a-z]+)+/g) ?? []);
  return [...words].filter((word) => names.has(word) && !visible.has(word));
}
