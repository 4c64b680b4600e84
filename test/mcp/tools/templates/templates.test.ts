import { beforeEach, describe, expect, test } from "vitest";
import { starter } from "../../../../src/template/starter-template.ts";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { openForEach } from "../../../support/open-for.ts";

/** Tests the tools for the page template: drafts, versions, and approvals before pages change. */

const first = "<h1>{{ link.name }}</h1>\n{% store_buttons %}\n";
const second = "<h1>{{ link.name }}</h1>\n<p>Spring sale</p>\n{% store_buttons %}\n";
const css = "h1 { color: #123456 }";

let assistant: AssistantWorld;

openForEach(createAssistantWorld, async (opened) => {
  assistant = opened;
  for (const path of ["spring", "summer"]) await assistant.plant("link", { path });
});

const call: AssistantWorld["call"] = (...asked) => assistant.call(...asked);

async function read(id: string) {
  return (await call("get_template_version", { id })).version;
}

async function callApproved(tool: string, args: Record<string, unknown> = {}) {
  const { error } = await call(tool, args);
  expect(error).toMatchObject({ code: "approval_required" });
  await assistant.press(error.approval.url, "approve");
  return { preview: String(error.approval.preview), result: await call(tool, args) };
}

describe("a draft", () => {
  test("is rejected with the field, line and column of each error", async () => {
    const body = "<h1>Hi</h1>\n<script>alert(1)</script>\n{% include 'x' %}";
    const { error } = await call("save_template", { body, css: "@import url(//evil.example);" });
    expect(error).toMatchObject({ code: "validation_failed", status: 422 });
    expect(error.problems.length).toBeGreaterThanOrEqual(3);
    expect(error.problems).toContainEqual(expect.objectContaining({ field: "body", line: 2 }));
    expect(error.problems).toContainEqual(expect.objectContaining({ field: "body", line: 3 }));
    expect(error.problems).toContainEqual(expect.objectContaining({ field: "css", line: 1 }));
    for (const { field, line, column, message } of error.problems) {
      if (line === undefined) continue;
      expect([field, column > 0, message]).toEqual([field, true, expect.stringMatching(/\.$/)]);
    }
  });

  test("is saved without an approval and is visible only in previews", async () => {
    const saved = await call("save_template", { body: first, css });
    expect(saved.page_template).toMatchObject({ id: expect.any(String) });
    expect(saved.page_template).not.toHaveProperty("live_version");
    expect(await read("draft")).toEqual({ id: "draft", body: first, css });
    const { preview_url } = await call("preview_template");
    expect((await assistant.visit(preview_url)).html).toContain("<h1>");
    expect((await call("list_template_versions")).versions).toEqual([]);
    expect(await assistant.world.call("GET", "/page_template/versions")).toMatchObject({
      body: { versions: [] },
    });
  });

  test("is rejected if its body is null, without creating a template", async () => {
    const { error } = await call("save_template", { body: null });
    expect(error).toMatchObject({ code: "invalid_arguments" });
    expect(await isAbsent()).toBe(true);
  });

  test("keeps its date when it is saved unchanged", async () => {
    const { page_template } = await call("save_template", { body: first, css });
    assistant.advance(60_000);
    const saved = { page_template, change: { id: expect.any(String), fields: {} } };
    expect(await call("save_template")).toEqual(saved);
    expect(await call("save_template", { css })).toEqual(saved);
  });
});

test("only the starter template can be read in a project without a template", async () => {
  for (const id of ["live", "draft"]) {
    const { error } = await call("get_template_version", { id });
    expect(error).toMatchObject({ code: "not_found", effect: "none" });
    expect(error.next).toBe("Links show the default page: read it with id starter.");
    // Reading the draft must not create the draft.
    expect(await isAbsent()).toBe(true);
  }
  await call("save_template", { body: first });
  expect((await call("get_template_version", { id: "live" })).error.next).toContain("id starter");
});

test("a template version without a body is returned with a note on what visitors see", async () => {
  await callApproved("publish_template", { css });
  const live = await read("live");
  expect(live).toMatchObject({ css, note: expect.stringContaining("with this css added") });
  expect(live).not.toHaveProperty("body");
  expect((await read(live.id)).note).toBe(live.note);
  expect((await read("draft")).note).toBe(live.note);
  expect(await read("starter")).not.toHaveProperty("note");
  await call("save_template", { css: "" });
  expect((await read("draft")).note).toContain("The text is empty");
});

describe("publish_template", () => {
  test("shows the changed lines and the number of affected links before approval", async () => {
    await call("save_template", { body: first, css });
    const { preview, result } = await callApproved("publish_template");
    expect(preview).toContain("Publish this page for all links in the project");
    expect(preview).toContain("affected links: 2");
    expect(preview).toContain("published now: Nothing is published. Links show the default page.");
    const lines = starter.body.trimEnd().split("\n").length;
    expect(preview).toContain(
      `body: \n@@ −1,${lines} +1,2 @@\n− all ${lines} lines\n` +
        '+ "<h1>{{ link.name }}</h1>"\n+ "{% store_buttons %}"',
    );
    const { live_version } = result.page_template;
    expect(live_version).toMatchObject({ live: true });
    expect(await read("live")).toEqual({ ...live_version, body: first, css });

    await call("save_template", { body: second });
    const again = await callApproved("publish_template");
    const [title, buttons] = first.split("\n");
    expect(again.preview).toContain(
      `body: \n@@ −1,2 +1,3 @@\n  "${title}"\n+ "<p>Spring sale</p>"\n  "${buttons}"`,
    );
    expect(again.preview).toContain("CSS: Unchanged.");
    expect((await call("list_template_versions")).versions).toHaveLength(2);
  });

  test("requires both body and css if the key may not read the draft", async () => {
    await call("save_template", { body: first });
    const key = await assistant.world.addKey({ scopes: ["page_templates.publish"] });
    const { callTool } = await assistant.connect({ key });
    for (const [args, fields] of [
      [{}, ["body", "css"]],
      [{ body: second }, ["css"]],
    ] as const) {
      const { error } = (await callTool("publish_template", args)).structured;
      expect(error).toMatchObject({ code: "invalid_arguments", effect: "none" });
      expect(error.problems.map(({ field }: { field: string }) => field)).toEqual(fields);
      expect(error.message).toContain("cannot read the draft");
    }
    const text = { body: second, css };
    const { error } = (await callTool("publish_template", text)).structured;
    expect(error.approval.preview).toContain("published now: Unknown. This API key cannot read it");
    expect(error.approval.preview).toContain('+ "<p>Spring sale</p>"');
    await assistant.press(error.approval.url, "approve");
    expect((await callTool("publish_template", text)).isError).toBe(false);
    expect(await read("live")).toMatchObject(text);
  });

  test.each([
    ["publish_template", {}, "not_found"],
    ["publish_template", { body: "<script>" }, "validation_failed"],
    ["unpublish_template", {}, "not_found"],
  ])(
    "a call to %s with %j is rejected without asking for approval if no template exists",
    async (tool, args, code) => {
      const { error } = await call(tool, args);
      expect(error).toMatchObject({ code });
      if (code === "not_found") expect(error.next).toMatch(/no page template yet. Save a draft/);
      expect(await isAbsent()).toBe(true);
    },
  );
});

describe("the template version", () => {
  test('"starter" exists before the first template is saved', async () => {
    const { version } = await call("get_template_version", { id: "starter" });
    expect(version).toEqual({ id: "starter", ...starter });
    expect((await call("preview_template", { body: version.body })).error).toBeUndefined();
  });

  test('"draft" requires permission to save templates, unlike "live"', async () => {
    await callApproved("publish_template", { body: first, css });
    const key = await assistant.world.addKey({ scopes: ["page_templates.show"] });
    const { callTool } = await assistant.connect({ key });
    const { error } = (await callTool("get_template_version", { id: "draft" })).structured;
    expect(error).toMatchObject({ code: "scope_missing", effect: "none" });
    expect(error.next).toContain("page_templates.update");
    const { version } = (await callTool("get_template_version", { id: "live" })).structured;
    expect(version).toMatchObject({ body: first, css, live: true });
  });

  test('"draft" is not available in read-only mode', async () => {
    await call("save_template", { body: first });
    await using reader = await createAssistantWorld({ mode: "read-only", beside: assistant.world });
    const { error } = (await reader.callTool("get_template_version", { id: "draft" })).structured;
    expect(error).toMatchObject({ code: "scope_missing", effect: "none" });
    expect(error.message).toBe(
      "Reading the draft needs save_template, which is not available here.",
    );
    expect(reader.writes).toEqual([]);
  });

  test('"starter" is unknown on a remote server, unlike "draft"', async () => {
    await using far = await createAssistantWorld({ isRemote: true });
    await far.callTool("save_template", { body: first, css });
    const { structured } = await far.callTool("get_template_version", { id: "starter" });
    expect(structured.error).toMatchObject({ code: "invalid_arguments", effect: "none" });
    expect(structured.error.message).toContain("remote server");
    const draft = await far.callTool("get_template_version", { id: "draft" });
    expect(draft.structured.version).toEqual({ id: "draft", body: first, css });
  });
});

test("CSS without a body is published with the starter's body", async () => {
  const { preview, result } = await callApproved("publish_template", { css });
  expect(preview).toContain("body: Unchanged.");
  expect(preview).toContain(`+ "${css}"`);
  expect(preview).not.toContain('− "');
  expect(result.page_template.live_version).toMatchObject({ live: true });
  expect(await read("live")).toEqual({
    id: expect.any(String),
    published_at: expect.any(String),
    published_by: "owner",
    live: true,
    css,
    note: expect.stringContaining("the page is the starter"),
  });
  const { html } = await call("preview_template", { html: true });
  expect(html).toContain('class="card"');
});

test("the result of a template write does not contain the template's text", async () => {
  const results = [
    await call("save_template", { body: first, css }),
    (await callApproved("publish_template")).result,
    await call("save_template", { body: second, css: "" }),
  ];
  const { id } = await read("live");
  results.push((await callApproved("restore_template_version", { id })).result);
  results.push((await callApproved("unpublish_template")).result);
  for (const result of results) {
    expect(result).toMatchObject({ page_template: {}, change: { id: expect.any(String) } });
    expect(JSON.stringify(result)).not.toMatch(/store_buttons|123456|"body":"(?!changed)/);
  }
  expect(results[2].change.fields).toEqual({ body: "changed", css: "changed" });
});

describe("a published template", () => {
  beforeEach(async () => {
    await callApproved("publish_template", { body: first, css });
    await callApproved("publish_template", { body: second, css });
  });

  test("can be unpublished after an approval, and its versions are kept", async () => {
    const { preview, result } = await callApproved("unpublish_template");
    expect(preview).toContain("all links will show the default page");
    expect(preview).toContain("affected links: 2");
    expect(result.page_template).not.toHaveProperty("live_version");
    const { versions } = await call("list_template_versions");
    expect(versions.map(({ live }: { live: boolean }) => live)).toEqual([undefined, undefined]);
  });

  test("can be restored as the draft without being published", async () => {
    const { versions } = await call("list_template_versions");
    const { id } = versions[1];
    const { version } = await call("get_template_version", { id });
    expect(version).toMatchObject({ id, body: first, css });
    const { preview, result } = await callApproved("restore_template_version", { id });
    expect(preview).toContain('− "<p>Spring sale</p>"');
    expect(result.page_template).toMatchObject({ unpublished_changes: true });
    expect([await read("draft"), await read("live")]).toMatchObject([
      { body: first, css },
      { body: second, css },
    ]);
  });

  test("cannot be read or restored with an unknown version ID", async () => {
    const id = "00000000-0000-4000-8000-000000000000";
    for (const tool of ["get_template_version", "restore_template_version"]) {
      expect((await call(tool, { id })).error).toMatchObject({ code: "not_found", status: 404 });
    }
  });
});

test("an approval preview escapes invisible characters of a template", async () => {
  const body = `<p>pay\u202eme\u200b</p>\n{% store_buttons %}`;
  const { preview } = await callApproved("publish_template", { body, css: "" });
  expect(preview).toContain("\\u{202e}");
  expect(preview).not.toMatch(/[\u202e\u200b]/);
});

/** Only without a template is publishing rejected before asking for approval. */
async function isAbsent(): Promise<boolean> {
  const { versions } = await call("list_template_versions");
  const { error } = await call("publish_template");
  return versions.length === 0 && error.code === "not_found";
}
