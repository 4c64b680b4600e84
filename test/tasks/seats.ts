import { expect } from "vitest";
import type { Era } from "../support/assistant-world.ts";
import { openEmbeddedSeat, type EmbeddedSeat } from "./embedded-seat.ts";
import { runTask, type Spent } from "./run-task.ts";
import type { Task } from "./task.ts";

/** Runs each task before a new project, or before one that a task has only looked at. */
export function createSeats(era: Era) {
  const untouched = new Map<string, EmbeddedSeat>();

  async function take(task: Task, kind: string): Promise<EmbeddedSeat> {
    const kept = untouched.get(kind);
    untouched.delete(kind);
    if (kept !== undefined) return kept;
    const seat = await openEmbeddedSeat(era, task.setting);
    await task.start?.(seat.place);
    return seat;
  }

  return {
    run: async (task: Task): Promise<Spent> => {
      const kind = JSON.stringify([task.start?.name, task.setting]);
      const seat = await take(task, kind);
      const spent = await runTask(task, seat);
      const { assistant } = seat;
      expect(assistant.reported).toEqual([]);
      const isUntouched = assistant.writes.length === 0 && !untouched.has(kind);
      // What the assistant remembers of plans and jobs is in no other task's way, an act is.
      if (isUntouched) untouched.set(kind, seat);
      else await seat[Symbol.asyncDispose]();
      return spent;
    },
    close: async () => {
      for (const seat of untouched.values()) await seat[Symbol.asyncDispose]();
    },
  };
}
