import { afterAll, describe, expect, test } from "vitest";
import { openTestServer, type TestServer } from "../support/mcp-http.ts";
import { openForAll } from "../support/open-for.ts";
import { openEmbeddedSeat } from "./embedded-seat.ts";
import { createSeats, openUsualSeat } from "./seats.ts";
import { lines, shorten, type Task } from "./task.ts";
import type { Spent } from "./run-task.ts";
import { tasks } from "./all-tasks.ts";

/** What users ask for, and how many calls it takes, with both official clients. */

type Done = { readonly task: Task; readonly spent: Spent };

function writeTable(done: readonly Done[]): string {
  const rows = done.map(({ task, spent }) => [
    spent.calls,
    task.least,
    spent.written,
    spent.read,
    shorten(task.sentence),
  ]);
  const total = [0, 1, 2, 3].map((column) =>
    rows.reduce((sum, row) => sum + Number(row[column]), 0),
  );
  const head = [
    "CALLS",
    "LEAST",
    "WRITTEN",
    "READ",
    "SENTENCE (bytes written and read by the model)",
  ];
  const table = [head, ...rows, [...total, `${done.length} sentences`]];
  return table.map((row) => row.map(align).join("  ") + "\n").join("");
}

function align(cell: string | number, column: number): string {
  return column === 4 ? String(cell) : String(cell).padStart(7);
}

let testServer: TestServer;

openForAll(
  () => openTestServer(),
  (opened) => (testServer = opened),
);

describe.each(lines)("an assistant with a %s client", (line) => {
  const done: Done[] = [];
  const seats = createSeats((setting) => openUsualSeat(line, setting, () => testServer));
  afterAll(seats.close);

  test.each(tasks.map((task) => [shorten(task.sentence), task] as const))(
    "needs only the minimum number of tool calls for: %s",
    async (_, task) => {
      const spent = await seats.run(task);
      expect(spent.calls, spent.tools.join(", ")).toBe(task.least);
      done.push({ task, spent });
    },
  );

  test("needs at most 10 % more calls than the minimum for all tasks together", () => {
    expect(done).toHaveLength(tasks.length);
    if (process.env["TASKS"] === "print") process.stdout.write(writeTable(done));
    expect(sum(done, ({ spent }) => spent.calls)).toBeLessThanOrEqual(
      1.1 * sum(done, ({ task }) => task.least),
    );
  });

  test("uses every tool in at least one task", async () => {
    const called = new Set(done.flatMap(({ spent }) => spent.tools));
    await using own = await openEmbeddedSeat(line);
    await using master = await openEmbeddedSeat(line, { isMaster: true });
    const lists = await Promise.all([own.client.listTools(), master.client.listTools()]);
    const names = lists.flat().map(({ name }) => name);
    expect(names.filter((name) => !called.has(name))).toEqual([]);
  });
});

test("every task has a unique prompt and a reason for its minimum number of calls", () => {
  const sentences = tasks.map(({ sentence }) => sentence);
  expect(sentences.length).toBeGreaterThanOrEqual(60);
  expect(new Set(sentences).size).toBe(sentences.length);
  const reasons = tasks.map(({ because }) => because);
  expect(reasons.filter((reason) => reason.length < 10)).toEqual([]);
});

function sum(done: readonly Done[], count: (done: Done) => number): number {
  return done.reduce((total, one) => total + count(one), 0);
}
