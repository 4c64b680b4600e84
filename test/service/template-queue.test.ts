import { expect, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { createTemplateQueue } from "../../src/service/template-queue.ts";
import { createCheckQueue } from "../../src/template/check-queue.ts";
import { createCaller, staying } from "../support/rows.ts";

/** Who is looked after next, when many want a template looked over. */

const waitInQueue = createTemplateQueue(createCheckQueue({ monotonic: () => 0 }));

const refusal = { status: 503, message: messages.took_too_long };

const callOf = (id: string, signal: { readonly hasLeft: () => boolean }) => ({
  caller: { project: { id } },
  signal,
});

/** A call that takes so many turns, and notes each of them. */
function ask(projectId: string, name: string, notes: string[], turns = 3, signal = staying) {
  return waitInQueue(callOf(projectId, signal), async (take) => {
    for (let turn = 0; turn < turns; turn += 1) await take(() => notes.push(name));
    return name;
  });
}

test("projects alternate, and a project's calls come one after the other", async () => {
  const notes: string[] = [];
  const answers = await Promise.all([
    ask("a", "a1", notes),
    ask("a", "a2", notes),
    ask("a", "a3", notes),
    ask("b", "b1", notes),
  ]);
  expect(answers).toEqual(["a1", "a2", "a3", "b1"]);
  expect(notes.filter((name) => name !== "b1")).toEqual(
    ["a1", "a2", "a3"].flatMap((name) => [name, name, name]),
  );
  // The other project is done while the first call of the flood is.
  expect(notes.lastIndexOf("b1")).toBeLessThanOrEqual(6);
});

test("whoever comes while others wait stands behind all of them", async () => {
  const notes: string[] = [];
  const first = ask("a", "a1", notes);
  const others = [ask("a", "a2", notes), ask("a", "a3", notes)];
  await first;
  await ask("a", "a4", notes);
  await Promise.all(others);
  expect(notes.slice(-4)).toEqual(["a3", "a4", "a4", "a4"]);
});

test("a call that fails leaves the line to the next", async () => {
  const failing = waitInQueue(callOf("a", staying), (take) =>
    take(() => {
      throw new Error("no");
    }),
  );
  const next = ask("a", "next", []);
  await expect(failing).rejects.toThrow("no");
  expect(await next).toBe("next");
});

test("what nobody waits for any more is not done, nor finished", async () => {
  const notes: string[] = [];
  const { signal, leave } = createCaller();
  const first = waitInQueue(callOf("a", signal), async (take) => {
    await take(() => notes.push("begun"));
    leave();
    await take(() => notes.push("finished"));
  });
  const second = ask("a", "second", notes, 3, signal);
  const third = ask("a", "third", notes, 1);
  await expect(first).rejects.toMatchObject(refusal);
  await expect(second).rejects.toMatchObject(refusal);
  await third;
  expect(notes).toEqual(["begun", "third"]);
});

test("a line has an end: whoever comes then is refused at once, and others are not", async () => {
  const notes: string[] = [];
  const waiting = Array.from({ length: 120 }, () => ask("a", "a", notes, 1));
  await expect(ask("a", "late", notes, 1)).rejects.toMatchObject(refusal);
  expect(notes.length).toBeLessThan(waiting.length);
  expect(await ask("b", "b", notes, 1)).toBe("b");
  await Promise.all(waiting);
  expect(await ask("a", "again", notes, 1)).toBe("again");
  expect(notes).not.toContain("late");
});
