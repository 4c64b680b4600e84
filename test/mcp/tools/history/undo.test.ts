import { expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { callDone, callRefused, type Args } from "../../../support/mcp-clients.ts";
import { openForEach } from "../../../support/open-for.ts";

/** Tests undo without approvals: for links, short paths and changes of other keys. */

let assistant: AssistantWorld;

openForEach(
  () => createAssistantWorld({ mode: "full" }),
  (opened) => (assistant = opened),
);

const call = (tool: string, args?: Args) => callDone(assistant, tool, args);
const fail = (tool: string, args?: Args) => callRefused(assistant, tool, args);

const readLink = async (id: string) => (await call("get_link", { id })).link;

test("every write returns a change ID and the changed fields", async () => {
  const { link, change } = await call("create_link", { path: "spring", name: "Old" });
  // The result already contains the fields of a new link.
  expect(change).toEqual({ id: expect.stringMatching(/^change_/) });
  const updated = await call("update_link", { id: link.id, name: "New", url: "https://a.example" });
  expect(updated.change.fields).toEqual({
    name: { from: "Old", to: "New" },
    url: { from: null, to: "https://a.example" },
  });
  const { changes, meta } = await call("list_changes");
  expect(meta).toEqual({ page: 1, limit: 20, count: 2, last: 1 });
  expect(changes.map(({ tool }: { tool: string }) => tool)).toEqual(["update_link", "create_link"]);
  expect(changes[0]).toEqual({
    id: updated.change.id,
    at: expect.any(String),
    tool: "update_link",
    client: "waypost-tests",
    target: { kind: "link", id: link.id, name: "New" },
    fields: updated.change.fields,
  });
  expect(changes[1]).toMatchObject({
    id: change.id,
    fields: { path: { from: null, to: "spring" }, name: { from: null, to: "Old" } },
  });
});

test("an undo restores a link, and can itself be undone", async () => {
  const { link } = await call("create_link", { path: "spring", name: "Old" });
  await call("update_link", { id: link.id, name: "New", path: "summer" });
  const { change } = await call("undo");
  expect(change).toMatchObject({
    tool: "undo",
    fields: { name: { from: "New", to: "Old" }, path: { from: "summer", to: "spring" } },
  });
  expect(await readLink(link.id)).toMatchObject({ name: "Old", path: "spring" });
  await call("undo", { change_id: change.id });
  expect(await readLink(link.id)).toMatchObject({ name: "New", path: "summer" });
  await call("undo");
  await call("undo");
  expect(await fail("get_link", { id: link.id })).toMatchObject({ code: "not_found" });
  expect(await fail("undo")).toMatchObject({ code: "not_found" });
});

test("creating a short path is listed as a change that cannot be undone", async () => {
  const { link } = await call("create_link", { path: "spring" });
  // The link redirects to its own URL, but shorten_link did not create the link.
  await call("update_link", { id: link.id, url: `${link.address}?id=1` });
  const shortened = await call("shorten_link", { url: `${link.address}?id=1` });
  expect(shortened.link).toMatchObject({ id: link.id, shortened_path: expect.any(String) });
  const { changes } = await call("list_changes");
  expect(changes[0]).toMatchObject({ tool: "shorten_link", fields: {} });
  expect(changes[0].note).toContain("short path cannot be removed");
  expect((await fail("undo")).message).toContain("short path cannot be removed");
  const { short_address: address } = shortened.link;
  const resolved = (await call("resolve_short_link", { url: address })).link;
  expect(resolved).toMatchObject({ id: link.id, query: "id=1" });
  expect(resolved).not.toHaveProperty("shortened_path");
});

const readName = async (id: string) =>
  (await assistant.world.call("GET", `/links/${id}`)).body.name as unknown;

test("an owner's undo without an ID skips newer changes of other keys", async () => {
  const own = await assistant.plant("link", { path: "own", name: "Before" });
  await call("update_link", { id: own.id, name: "After" });
  const { id } = await assistant.plant("link", { path: "spring", name: "Old" });
  const key = await assistant.world.addKey({ role: "manager" });
  const other = await assistant.connect({ key });
  await callDone(other, "update_link", { id, name: "Other's" });
  await call("undo");
  expect([await readName(own.id), await readName(id)]).toEqual(["Before", "Other's"]);
  expect(await fail("undo")).toMatchObject({ code: "not_found" });
  expect(await readName(id)).toBe("Other's");
});
