import { afterEach, describe, expect, test } from "vitest";
import { viewExtension, viewType } from "../../../../src/mcp/tools/templates/run-template.ts";
import {
  createAssistantWorld,
  type AssistantOptions,
  type AssistantWorld,
} from "../../../support/assistant-world.ts";

/** Tests which changes of a page template need approval, and what the user sees. */

const buttons = "{% store_buttons %}";
const first = `<h1>{{ link.name }}</h1>\n${buttons}\n`;
const second = `<h1>{{ link.name }}</h1>\n<p>Spring sale</p>\n${buttons}\n`;

let assistant: AssistantWorld;

async function open(options: AssistantOptions = {}): Promise<void> {
  assistant = await createAssistantWorld(options);
}

afterEach(async () => {
  expect(assistant.reported).toEqual([]);
  await assistant[Symbol.asyncDispose]();
});

const call: AssistantWorld["call"] = (...asked) => assistant.call(...asked);

async function readBody(id: string): Promise<unknown> {
  return (await call("get_template_version", { id })).version.body;
}

async function callApproved(tool: string, args: Record<string, unknown> = {}) {
  const result = await assistant.approve(tool, args);
  // The first call used up the approval, so the next call needs a new approval.
  expect((await call(tool, args)).error).toMatchObject({ code: "approval_required" });
  return result;
}

describe("a long template in an approval request", () => {
  const lines = Array.from({ length: 900 }, (_, index) => `<p>Line ${index} of many</p>`);
  const body = [...lines, '<a href="https://phish.example/">here</a>', buttons].join("\n");

  test("is shown on the approval page in full if a form cannot show it", async () => {
    const asked: string[] = [];
    await open({
      elicit: (message) => {
        asked.push(message);
        return { action: "accept", content: { approve: true } };
      },
    });
    const { error } = await call("publish_template", { body, css: "p { color: red }" });
    expect(error).toMatchObject({ code: "approval_required" });
    expect(asked).toEqual([]);
    expect(error.approval.preview).toContain("left out because of their length: body; CSS");
    const { html } = await assistant.visit(error.approval.url);
    expect(html).toContain("https://phish.example/");
    expect(html).toContain("p { color: red }");
  });

  test("is shown in full even if it is a single line", async () => {
    await open();
    const long = `<p>${"x".repeat(5000)}</p><a href="https://phish.example/">here</a>${buttons}`;
    const { error } = await call("publish_template", { body: long, css: "" });
    expect(error.approval.preview).toContain("https://phish.example/");
  });

  test("is shown in full, in a collapsed list, even if it has many changes", async () => {
    await open({ mode: "full" });
    await call("publish_template", { body, css: "" });
    const every = lines.map((line, index) => (index % 2 === 0 ? `${line} ` : line));
    await using guarded = await createAssistantWorld({ beside: assistant.world });
    const fresh = [...every, buttons].join("\n");
    const { error } = (await guarded.callTool("publish_template", { body: fresh, css: "" }))
      .structured;
    const { html } = await guarded.visit(error.approval.url);
    expect(html).toContain("<summary>Changed lines: Body +450 −451</summary>");
    expect(html).toContain("Line 899 of many");
  });
});

test("publishing a draft is rejected if WAYPOST_TOOLS leaves out save_template", async () => {
  await open({ mode: "full", selection: ["publish_template", "list_links"] });
  await assistant.world.call("PATCH", "/page_template", { body: { body: first } });
  const { error } = await call("publish_template", {});
  expect(error).toMatchObject({ code: "invalid_arguments", effect: "none" });
  expect(error.message).toContain("WAYPOST_TOOLS leaves out save_template");
});

test.each([
  ["the embedded service", false],
  ["a remote server", true],
])("on %s, a draft with an empty body can be published after an approval", async (_, isRemote) => {
  await open({ isRemote });
  await call("save_template", { body: "", css: "p { color: red }" });
  await callApproved("publish_template", { css: "" });
  const { versions } = await call("list_template_versions");
  expect(versions).toMatchObject([{ live: true }]);
});

describe("a remote Waypost server without a template", () => {
  test("get_template_version does not create a draft", async () => {
    await open({ isRemote: true });
    const { error } = await call("get_template_version", { id: "draft" });
    expect(error).toMatchObject({ code: "not_found", effect: "none" });
    expect(await isCreatedBySave()).toBe(true);
  });

  test("publish_template does not create a template before the approval", async () => {
    await open({ isRemote: true });
    const { error } = await call("publish_template", { body: first });
    expect(error).toMatchObject({ code: "approval_required" });
    expect(await isCreatedBySave()).toBe(true);
  });
});

test("a template body of only white space is rejected without asking for approval", async () => {
  await open();
  const { error } = await call("publish_template", { body: " " });
  expect(error).toMatchObject({ code: "validation_failed", effect: "none" });
});

describe("a tool call", () => {
  const budget = 60;

  const extensions = { [viewExtension]: { mimeTypes: [viewType] } };

  test.each([
    ["publish_template", { body: second, css: "" }, 1],
    ["publish_template", {}, 1],
    ["unpublish_template", {}, 0],
    ["preview_template", { body: second }, 1],
    ["undo", {}, 1],
  ])(
    "counts toward the template rate limit like its REST request: %s %j",
    async (tool, args, cost) => {
      await open({
        elicit: () => ({ action: "accept", content: { approve: true } }),
        capabilities: { elicitation: { form: {} }, extensions },
      });
      await call("save_template", { body: "{% store_buttons %}" });
      await call("publish_template", { body: first });
      await spendRest();
      expect(await call(tool, args)).not.toHaveProperty("error");
      expect(budget - (await spendRest())).toBe(cost);
    },
  );
});

describe("the template rate limit", () => {
  test("does not count the validation before an approval", async () => {
    await open();
    const { error } = await call("publish_template", { body: second, css: "" });
    expect(error).toMatchObject({ code: "approval_required" });
    expect(await spendBudget()).toBe(60);
  });
});

test("publish_template works on a remote server that cannot render previews", async () => {
  await open({ mode: "full", lacks: ["/page_template/preview"] });
  await call("publish_template", { body: first });
  expect(await readBody("live")).toBe(first);
  const { error } = await call("preview_template");
  expect(error).toMatchObject({ code: "not_found" });
  expect(error.next).toBe("Inform the user that this server might not offer preview_template.");
});

async function spendRest(): Promise<number> {
  const count = await spendBudget();
  assistant.advance(61_000);
  return count;
}

async function spendBudget(): Promise<number> {
  const headers = { authorization: `Token ${assistant.world.key}` };
  const request = { method: "POST", url: "http://localhost/api/v1/page_template/preview", headers };
  let count = 0;
  while ((await assistant.answerApi(request)).status === 200) count += 1;
  return count;
}

async function isCreatedBySave(): Promise<boolean> {
  const body = { body: first };
  const { status } = await assistant.world.call("PATCH", "/page_template", { body });
  return status === 201;
}
