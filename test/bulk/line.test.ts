import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { CallFailure } from "../../src/client/outcome.ts";
import { createQueue } from "../../src/bulk/bulk.ts";
import { createGate, createTestClock } from "../support/clock.ts";

/** Tests the queue for bulk tasks, on a clock that the test advances. */

function openLine() {
  const { sleep, advance } = createTestClock();
  const line = createQueue(sleep);
  const atWork: string[] = [];
  const ends: string[] = [];
  const begin = (keyPrint: string, name = keyPrint, signal = new AbortController().signal) => {
    const gate = createGate();
    const work = async () => {
      atWork.push(name);
      await gate.opened;
      atWork.splice(atWork.indexOf(name), 1);
    };
    const ended = line(keyPrint, signal, work).then(
      () => ends.push(`${name} done`),
      (error: CallFailure) => ends.push(`${name} ${error.code}`),
    );
    return { finish: gate.open, ended };
  };
  return { line, begin, advance, atWork, ends };
}

async function settle(): Promise<void> {
  for (let turns = 0; turns < 5; turns += 1) await turn();
}

const listNames = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${name}${index}`);

describe("the bulk queue", () => {
  test("runs at most two tasks per API key and four in total at a time", async () => {
    const { begin, atWork } = openLine();
    const works = ["a1", "a2", "a3", "b1", "b2", "c1"].map((name) => begin(name[0] ?? "", name));
    await settle();
    expect(atWork).toEqual(["a1", "a2", "b1", "b2"]);
    works[3]?.finish();
    await settle();
    // The first waiting task has a key with two running tasks.
    expect(atWork).toEqual(["a1", "a2", "b2", "c1"]);
    works[0]?.finish();
    await settle();
    expect(atWork).toEqual(["a2", "b2", "c1", "a3"]);
  });

  test("starts the next task after a task fails", async () => {
    const { line, begin, atWork } = openLine();
    const signal = new AbortController().signal;
    const failed = line("a", signal, () => Promise.reject(new Error("It broke.")));
    await expect(failed).rejects.toThrow("It broke.");
    begin("a", "a1");
    begin("a", "a2");
    await settle();
    expect(atWork).toEqual(["a1", "a2"]);
  });
});

describe("an API key with many bulk tasks", () => {
  test("does not delay the tasks of other keys", async () => {
    const { begin, atWork } = openLine();
    const [first] = listNames("a", 12).map((name) => begin("a", name));
    begin("b", "b1");
    begin("b", "b2");
    begin("c");
    await settle();
    expect(atWork).toEqual(["a0", "a1", "b1", "b2"]);
    first?.finish();
    await settle();
    expect(atWork).toEqual(["a1", "b1", "b2", "c"]);
  });

  test("cannot queue another task while twenty of its tasks are waiting", async () => {
    const { begin, ends } = openLine();
    for (const name of listNames("a", 22)) begin("a", name);
    await settle();
    expect(ends).toEqual([]);
    begin("a", "a22");
    await settle();
    expect(ends).toEqual(["a22 overloaded"]);
  });
});

test("a task is rejected after waiting in the bulk queue for thirty seconds", async () => {
  const { line, begin, advance, ends } = openLine();
  const [first] = listNames("a", 2).map((name) => begin("a", name));
  const waiting = line("a", new AbortController().signal, () => Promise.resolve());
  const refused = waiting.catch((error: unknown) => error);
  advance(29_999);
  begin("a", "later");
  advance(1);
  expect(await refused).toMatchObject({ code: "overloaded", facts: { retry_after_s: 30 } });
  first?.finish();
  await settle();
  advance(30_000);
  await settle();
  // The task has started, so its wait cannot time out.
  expect(ends).toEqual(["a0 done"]);
});

test("a cancelled task is removed from the bulk queue and never starts", async () => {
  const { line, begin, atWork, ends } = openLine();
  const [first] = listNames("a", 2).map((name) => begin("a", name));
  const leaving = new AbortController();
  begin("a", "leaves", leaving.signal);
  begin("a", "stays");
  leaving.abort();
  await settle();
  expect(ends).toEqual(["leaves cancelled"]);
  first?.finish();
  await settle();
  expect(atWork).toEqual(["a1", "stays"]);
  const late = line("b", leaving.signal, () => Promise.resolve());
  await expect(late).rejects.toMatchObject({ code: "cancelled" });
});
