import { expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { callDone, callRefused, type Args } from "../../../support/mcp-clients.ts";
import { openForEach } from "../../../support/open-for.ts";

/** The short path of an existing link cannot be taken back, and only its change says so. */

let assistant: AssistantWorld;

openForEach(
  () => createAssistantWorld({ mode: "full" }),
  (opened) => (assistant = opened),
);

const call = (tool: string, args?: Args) => callDone(assistant, tool, args);
const fail = (tool: string, args?: Args) => callRefused(assistant, tool, args);

test("a short path of an address with its query says that it cannot be taken back", async () => {
  const { link } = await call("create_link", { path: "spring" });
  // It leads to itself, and was made by nobody who shortened it.
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

test("a link that shorten_link made for a foreign address is undone without a note", async () => {
  const { link } = await call("shorten_link", { url: "https://foreign.example/a" });
  const { changes } = await call("list_changes");
  expect(changes[0]).toMatchObject({ tool: "shorten_link", target: { id: link.id } });
  expect(changes[0]).not.toHaveProperty("note");
  const { change } = await call("undo");
  expect(change).toMatchObject({ undoes: changes[0].id, target: { id: link.id } });
  expect((await fail("get_link", { id: link.id })).code).toBe("not_found");
});
