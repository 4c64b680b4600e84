import { expect, test } from "vitest";
import { openEmbeddedSeat } from "./embedded-seat.ts";
import { runTask, type Spent } from "./run-task.ts";
import { openShop } from "./shop.ts";
import type { Script, Task } from "./task.ts";

/** Tests of the task runner: what it counts and what it rejects. */

const frame = {
  sentence: "Rename the summer link to Beach",
  start: openShop,
  check: async ({ find }) => expect(await find("summer")).toMatchObject({ name: "Beach" }),
  least: 1,
  because: "the sentence has all of it",
} as const satisfies Omit<Task, "script">;

async function run(script: Script, more: Partial<Task> = {}): Promise<Spent> {
  await using seat = await openEmbeddedSeat("modern");
  await openShop(seat.place);
  return await runTask({ ...frame, ...more, script }, seat);
}

const rename: Script = ({ call }) => call("update_link", { id: "summer", name: "Beach" });

test("a task run counts calls and the bytes that a model writes and reads", async () => {
  const { calls, written, read, tools } = await run(async (assistant, before) => {
    await assistant.call("get_link", { id: "summer" });
    return rename(assistant, before);
  });
  expect([calls, tools]).toEqual([2, ["get_link", "update_link"]]);
  expect(written).toBe('{"id":"summer"}{"id":"summer","name":"Beach"}'.length);
  expect(read).toBeGreaterThan(200);
});

test("a task run knows earlier calls of the conversation but does not count them", async () => {
  const { calls } = await run(({ call }, { id }) => call("update_link", { id, name: "Beach" }), {
    earlier: async ({ call }) => (await call("get_link", { id: "summer" })).link,
  });
  expect(calls).toBe(1);
});

test.each([
  ["a value without a source", { id: "summer", name: "Lagoon" }, "Lagoon"],
  ["a path that only the start state contains", { id: "promo", name: "Beach" }, "promo"],
  ["an argument that is in no schema", { id: "summer", sobriquet: "Beach" }, "sobriquet"],
])("%s fails a task before it is sent", async (_, args, stray) => {
  await expect(run(({ call }) => call("update_link", args))).rejects.toThrow(
    `"${stray}" is in no sentence, no schema and no earlier result`,
  );
});

test("results of one conversation are unknown in another", async () => {
  const found: string[] = [];
  const colleague: Script = async ({ call }) => {
    found.push((await call("get_link", { id: "summer" })).link.id);
  };
  const script: Script = ({ call }) => call("update_link", { id: found[0], name: "Beach" });
  await expect(run(script, { colleague })).rejects.toThrow("no earlier result");
});

test("calling a tool that is not listed fails a task", async () => {
  await expect(run(({ call }) => call("rename_link", { id: "summer" }))).rejects.toThrow(
    "a model calls what it has seen",
  );
});

test("a task with a wrong final state fails", async () => {
  await expect(run(({ call }) => call("get_link", { id: "summer" }))).rejects.toThrow("Beach");
});
