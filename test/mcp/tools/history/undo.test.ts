import { expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { callDone, callRefused, type Args } from "../../../support/mcp-clients.ts";
import { openForEach } from "../../../support/open-for.ts";

/** Changes put back, one kind after another. */

let assistant: AssistantWorld;

openForEach(
  () => createAssistantWorld({ mode: "full" }),
  (opened) => (assistant = opened),
);

const call = (tool: string, args?: Args) => callDone(assistant, tool, args);
const fail = (tool: string, args?: Args) => callRefused(assistant, tool, args);

const readLink = async (id: string) =>
  (await assistant.callTool("get_link", { id })).structured.link;

test("every write tells its change, with what it changed of what was there", async () => {
  const { link, change } = await call("create_link", { path: "spring", name: "Old" });
  // What was made is told as the link, and not a second time.
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

test("a changed link is put back, and changed again by undoing that", async () => {
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
