import { expect, test } from "vitest";
import { messages } from "../../../src/contract/messages.ts";
import { createAssistantWorld } from "../../support/assistant-world.ts";
import { createGate } from "../../support/clock.ts";

/** What an assistant is told where more is written than the store can take. */

test("a call whose turn to write did not come has done nothing, and is not repeated", async () => {
  await using assistant = await createAssistantWorld();
  await assistant.plant("link", { path: "spring", name: "Spring", url: "https://a.example" });
  const { store, advance } = assistant.world;
  const [asked, over] = [createGate(), createGate()];
  const earlier = store.write(() => over.opened);
  const { write } = store;
  const hold: typeof write = (work, options) => {
    const written = write(work, options);
    asked.open();
    return written;
  };
  Object.assign(store, { write: hold });
  const called = assistant.callTool("update_link", { id: "spring", name: "Late" });
  await asked.opened;
  advance(10_000);
  const { structured } = await called;
  const next = "Wait a moment, then call update_link again.";
  expect(structured.error).toEqual({
    code: "overloaded",
    message: messages.not_begun,
    effect: "none",
    retry: "later",
    retry_after_s: 1,
    next,
  });
  over.open();
  await earlier;
  const { link } = (await assistant.callTool("get_link", { id: "spring" })).structured;
  expect(link.name).toBe("Spring");
  expect(assistant.writes).toHaveLength(1);
});
