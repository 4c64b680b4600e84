import { expect, test } from "vitest";
import { printKey } from "../../../../src/mcp/access/key-context.ts";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { callDone, callRefused } from "../../../support/call-tool.ts";
import { openForEach } from "../../../support/open-for.ts";

/** An owner sees the changes of all keys, and still undoes in its own name only. */

let assistant: AssistantWorld;

openForEach(
  () => createAssistantWorld({ mode: "full" }),
  (opened) => (assistant = opened),
);

const readName = async (id: string) =>
  (await assistant.world.call("GET", `/links/${id}`)).body.name as unknown;

async function changeAsOther() {
  const { id } = await assistant.plant("link", { path: "spring", name: "Old" });
  const key = await assistant.world.addKey({ role: "manager" });
  const other = await assistant.connect({ key });
  const { change } = await callDone(other, "update_link", { id, name: "Other's" });
  return { id, key, change };
}

test("an owner's undo without an id leaves a newer change of another key alone", async () => {
  const own = await assistant.plant("link", { path: "own", name: "Before" });
  await callDone(assistant, "update_link", { id: own.id, name: "After" });
  const { id } = await changeAsOther();
  await callDone(assistant, "undo");
  expect([await readName(own.id), await readName(id)]).toEqual(["Before", "Other's"]);
  expect(await callRefused(assistant, "undo")).toMatchObject({ code: "not_found" });
  expect(await readName(id)).toBe("Other's");
});

test("an owner's undo does not resume the half-done undo of another key", async () => {
  const { id, key, change } = await changeAsOther();
  const { history } = assistant.state;
  const realm = assistant.world.project.id;
  const target = { kind: "link", target_id: id, target_key: "spring", name: "Old" };
  const writer = { realm, key_print: printKey(key), client: null };
  const begun = { ...writer, ...target, tool: "undo", effects: [], undoes: change.id };
  const { id: open } = await history.begin(begun);
  const undone = await callDone(assistant, "undo", { change_id: change.id });
  expect(await readName(id)).toBe("Old");
  expect(undone.change.id).not.toBe(open);
  expect(await history.find({ realm }, open)).toMatchObject({ state: "begun" });
});
