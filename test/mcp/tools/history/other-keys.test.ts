import { expect, test } from "vitest";
import { createAssistantWorld, type AssistantWorld } from "../../../support/assistant-world.ts";
import { callDone, callRefused } from "../../../support/mcp-clients.ts";
import { openForEach } from "../../../support/open-for.ts";

/** An owner sees the changes of all keys, and still undoes in its own name only. */

let assistant: AssistantWorld;

openForEach(
  () => createAssistantWorld({ mode: "full" }),
  (opened) => (assistant = opened),
);

const readName = async (id: string) =>
  (await assistant.world.call("GET", `/links/${id}`)).body.name as unknown;

test("an owner's undo without an id leaves a newer change of another key alone", async () => {
  const own = await assistant.plant("link", { path: "own", name: "Before" });
  await callDone(assistant, "update_link", { id: own.id, name: "After" });
  const { id } = await assistant.plant("link", { path: "spring", name: "Old" });
  const key = await assistant.world.addKey({ role: "manager" });
  const other = await assistant.connect({ key });
  await callDone(other, "update_link", { id, name: "Other's" });
  await callDone(assistant, "undo");
  expect([await readName(own.id), await readName(id)]).toEqual(["Before", "Other's"]);
  expect(await callRefused(assistant, "undo")).toMatchObject({ code: "not_found" });
  expect(await readName(id)).toBe("Other's");
});
