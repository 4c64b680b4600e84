import { expect, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { createTemplateQueue, createCheckQueue } from "../../src/template/check-queue.ts";
import { createCaller, staying } from "../support/rows.ts";

/** Tests the order in which waiting templates are checked. */

const waitInQueue = createTemplateQueue(createCheckQueue({ monotonic: () => 0 }));

const refusal = { status: 503, message: messages.took_too_long };

const callOf = (id: string, signal: { readonly hasLeft: () => boolean }) => ({
  caller: { project: { id } },
  signal,
});

function enqueue(projectId: string, name: string, notes: string[], turns = 3, signal = staying) {
  return waitInQueue(callOf(projectId, signal), async (take) => {
    for (let turn = 0; turn < turns; turn += 1) await take(() => notes.push(name));
    return name;
  });
}

test("the template queue alternates between projects and keeps each project's order", async () => {
  const notes: string[] = [];
  const answers = await Promise.all([
    enqueue("a", "a1", notes),
    enqueue("a", "a2", notes),
    enqueue("a", "a3", notes),
    enqueue("b", "b1", notes),
  ]);
  expect(answers).toEqual(["a1", "a2", "a3", "b1"]);
  expect(notes.filter((name) => name !== "b1")).toEqual(
    ["a1", "a2", "a3"].flatMap((name) => [name, name, name]),
  );
  // The other project is finished before the second request of the first project.
  expect(notes.lastIndexOf("b1")).toBeLessThanOrEqual(6);
});

test("a new template check waits behind all earlier checks of its project", async () => {
  const notes: string[] = [];
  const first = enqueue("a", "a1", notes);
  const others = [enqueue("a", "a2", notes), enqueue("a", "a3", notes)];
  await first;
  await enqueue("a", "a4", notes);
  await Promise.all(others);
  expect(notes.slice(-4)).toEqual(["a3", "a4", "a4", "a4"]);
});

test("a template check still starts if the previous check fails", async () => {
  const failing = waitInQueue(callOf("a", staying), (take) =>
    take(() => {
      throw new Error("no");
    }),
  );
  const next = enqueue("a", "next", []);
  await expect(failing).rejects.toThrow("no");
  expect(await next).toBe("next");
});

test("a template check is not started or continued after its caller disconnects", async () => {
  const notes: string[] = [];
  const { signal, leave } = createCaller();
  const first = waitInQueue(callOf("a", signal), async (take) => {
    await take(() => notes.push("begun"));
    leave();
    await take(() => notes.push("finished"));
  });
  const second = enqueue("a", "second", notes, 3, signal);
  const third = enqueue("a", "third", notes, 1);
  await expect(first).rejects.toMatchObject(refusal);
  await expect(second).rejects.toMatchObject(refusal);
  await third;
  expect(notes).toEqual(["begun", "third"]);
});

test("a project with a full template queue does not block another project", async () => {
  const notes: string[] = [];
  const waiting = Array.from({ length: 120 }, () => enqueue("a", "a", notes, 1));
  await expect(enqueue("a", "late", notes, 1)).rejects.toMatchObject(refusal);
  expect(notes.length).toBeLessThan(waiting.length);
  expect(await enqueue("b", "b", notes, 1)).toBe("b");
  await Promise.all(waiting);
  expect(await enqueue("a", "again", notes, 1)).toBe("again");
  expect(notes).not.toContain("late");
});
