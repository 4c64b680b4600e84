import { expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { callDone, type Args } from "../../../support/mcp-clients.ts";
import { openForEach } from "../../../support/open-for.ts";

/** Tests which changes a key can see, and which details. */

let assistant: AssistantWorld;

openForEach(
  () => createAssistantWorld({ mode: "full" }),
  (opened) => (assistant = opened),
);

const call = (tool: string, args?: Args, client: Client = assistant) =>
  callDone(client, tool, args);

type Client = Pick<AssistantWorld, "callTool" | "listTools">;

type ListedChange = { readonly id: string; readonly tool: string; readonly by?: string };

async function list(client: Client = assistant, args = {}): Promise<readonly ListedChange[]> {
  return (await call("list_changes", args, client)).changes;
}

const nameTools = async (client: Client) => (await client.listTools()).map(({ name }) => name);

test("only an owner key with all scopes sees the changes of other keys", async () => {
  const { world } = assistant;
  const manager = await assistant.connect({ key: await world.addKey({ role: "manager" }) });
  const limited = await assistant.connect({
    key: await world.addKey({ scopes: ["links.create", "links.show"] }),
  });
  const other = await world.addProject();
  const stranger = await assistant.connect({ key: await world.addKey({ project: other }) });
  await call("create_link", { path: "own" });
  await call("create_link", { path: "managers" }, manager);
  await call("create_link", { path: "limited" }, limited);
  await call("create_link", { path: "strangers" }, stranger);

  expect(await list()).toMatchObject([
    { target: { name: "limited" }, by: "another key" },
    { target: { name: "managers" }, by: "another key" },
    { target: { name: "own" } },
  ]);
  expect((await list()).map(({ by }) => by)).toEqual(["another key", "another key", undefined]);
  expect(await list(manager)).toMatchObject([{ target: { name: "managers" } }]);
  expect(await list(limited)).toMatchObject([{ target: { name: "limited" } }]);
  expect(await list(stranger)).toMatchObject([{ target: { name: "strangers" } }]);
});

test("an owner key restricted by WAYPOST_SCOPES sees only its own changes", async () => {
  const key = await assistant.world.addKey();
  const limited = await assistant.connect({ key, scopes: ["links.create", "links.show"] });
  await call("create_link", { path: "another" });
  await call("create_link", { path: "own" }, limited);
  expect(await list(limited)).toMatchObject([{ target: { name: "own" } }]);
});

test("a key cannot undo a change that it cannot see", async () => {
  const key = await assistant.world.addKey({ role: "manager" });
  const manager = await assistant.connect({ key });
  const { change } = await call("create_link", { path: "own" });
  const { structured } = await manager.callTool("undo", { change_id: change.id });
  expect(structured.error).toMatchObject({ code: "not_found" });
  expect((await manager.callTool("undo")).structured.error).toMatchObject({ code: "not_found" });
});

test("list_changes hides the fields of links from a key that may not read links", async () => {
  const key = await assistant.world.addKey({ scopes: ["links.create", "links.destroy"] });
  const writer = await assistant.connect({ key });
  const { change, link } = await call("create_link", { path: "secret", name: "Secret" }, writer);
  expect(change.fields).toBeUndefined();
  const [shown] = await list(writer);
  expect(shown).toMatchObject({ target: { kind: "link", id: link.id }, fields: {} });
  expect(JSON.stringify(shown)).not.toContain("ecret");
});

test("undo is rejected if the key lacks a scope for a request that undo sends", async () => {
  const key = await assistant.world.addKey({ scopes: ["links.create", "links.show"] });
  const writer = await assistant.connect({ key });
  const { link } = await call("create_link", { path: "spring" }, writer);
  const { structured } = await writer.callTool("undo");
  expect(structured.error).toMatchObject({
    code: "scope_missing",
    message: expect.stringContaining("links.destroy"),
    effect: "none",
  });
  await call("get_link", { id: link.id });
});

test("list_changes finds changes by a target's ID, name, URL, or any of its paths", async () => {
  const { link } = await call("create_link", { path: "spring" });
  await call("update_link", { id: link.id, path: "summer" });
  const app = { bundle_id: "com.example.app", team_id: "ABCDE12345", name: "Example" };
  await call("register_ios_app", app);
  const { host } = new URL(link.address);
  const targets = [link.id, "spring", "/summer", link.address, `${host}/summer/?utm=1`];
  for (const target of targets) {
    const tools = (await list(assistant, { target })).map(({ tool }) => tool);
    expect(tools, target).toEqual(["update_link", "create_link"]);
  }
  for (const target of [app.bundle_id, app.name]) {
    const [found] = await list(assistant, { target });
    expect(found).toMatchObject({ tool: "register_ios_app" });
  }
});

test("list_changes returns twenty changes per page and truncates long texts", async () => {
  const name = "x".repeat(255);
  for (let links = 0; links < 21; links += 1) await call("create_link", { name });
  const { changes, meta } = await call("list_changes");
  expect(meta).toEqual({ page: 1, limit: 20, count: 21, last: 2, next: 2 });
  expect(changes).toHaveLength(20);
  expect(changes[0].target.name).toBe(`${"x".repeat(60)}…`);
  expect(changes[0].fields.name.to).toBe(`${"x".repeat(200)}…`);
  expect(await list(assistant, { page: 2 })).toHaveLength(1);
});

test("list_changes shows the client's name and escapes the link's name", async () => {
  await call("create_link", { path: "spring", name: "a\u202eb" });
  const [shown] = await list();
  expect(shown).toMatchObject({ client: "waypost-tests", target: { name: "a\\u{202e}b" } });
});

test.each([
  ["with a title", { name: "a-b", title: "A B" }, "A B", "A B"],
  ["whose name has unstorable characters", { name: "c\0d\ud800" }, "cd\ufffd", "cd\ufffd"],
  [
    "whose name has 80 characters",
    { name: `${"x".repeat(79)}😀` },
    `${"x".repeat(60)}…`,
    "x".repeat(40),
  ],
  ["whose name is invisible", { name: "\0 " }, undefined, undefined],
])("the history and the approval page describe a client %s", async (_, info, listed, asked) => {
  await using guarded = await createAssistantWorld();
  const named = { clientInfo: { version: "1", ...info }, capabilities: {} };
  const given = { ...named, arguments: { path: "spring" } };
  const made = await guarded.callRaw({ ...given, name: "create_link" });
  expect(made.structuredContent).toHaveProperty("link");
  expect((await guarded.call("list_changes")).changes[0].client).toBe(listed);

  const deletion = { ...named, name: "delete_link", arguments: { id: "spring" } };
  const { error } = (await guarded.callRaw(deletion)).structuredContent;
  const { html } = await guarded.visit(error.approval.url);
  const name = asked === undefined ? "" : ` &quot;${asked}`;
  expect(html).toContain(`<p class="lead">Your assistant${name}`);
  expect(html.includes("assistant is asking")).toBe(asked === undefined);
  expect(guarded.reported).toEqual([]);
});

test("a rejected call is not listed as a change", async () => {
  await assistant.callTool("create_link", { path: "a%b" });
  await assistant.callTool("update_link", {
    id: "019bc186-de00-7911-ba08-180d7cbe11da",
    name: "x",
  });
  expect(await list()).toEqual([]);
});

test("in read-only mode, list_changes is available but undo is not", async () => {
  const reader = await createAssistantWorld({ mode: "read-only", beside: assistant.world });
  await call("create_link", { path: "spring" });
  expect(await nameTools(reader)).toContain("list_changes");
  expect(await nameTools(reader)).not.toContain("undo");
  expect(await list(reader)).toHaveLength(1);
  await reader[Symbol.asyncDispose]();
});
