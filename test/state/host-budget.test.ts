import { expect, test } from "vitest";
import { createAssistantWorld } from "../support/assistant-world.ts";

test("a key may have hosts asked a thousand times in an hour, whichever process asks", async () => {
  await using assistant = await createAssistantWorld();
  const { hostBudget } = assistant.state;
  for (let turn = 0; turn < 1000; turn += 1) expect(await hostBudget.take("one")).toBe(true);
  expect(await hostBudget.take("one")).toBe(false);
  expect(await hostBudget.take("two")).toBe(true);
  assistant.advance(60 * 60_000);
  expect(await hostBudget.take("one")).toBe(true);
});
