import type { Ground } from "../support/mcp-ground.ts";
import { openEmbeddedSeat } from "./embedded-seat.ts";
import { openRemoteSeat } from "./remote-seat.ts";
import { runTask, type Seat, type Spent } from "./run-task.ts";
import type { Line, Task } from "./task.ts";

/** Runs each task before a new project, or before one that a task has only looked at. */
export function createSeats(line: Line, readGround: () => Ground) {
  const untouched = new Map<string, Seat>();

  async function take({ start, setting = {} }: Task, kind: string): Promise<Seat> {
    const kept = untouched.get(kind);
    untouched.delete(kind);
    if (kept !== undefined) return kept;
    const seat = setting.isRemote
      ? await openRemoteSeat(readGround(), line, setting)
      : await openEmbeddedSeat(line, setting);
    await start?.(seat.place);
    return seat;
  }

  return {
    run: async (task: Task): Promise<Spent> => {
      const kind = JSON.stringify([task.start?.name, task.setting]);
      const seat = await take(task, kind);
      const spent = await runTask(task, seat);
      if (seat.isUntouched()) untouched.set(kind, seat);
      else await seat[Symbol.asyncDispose]();
      return spent;
    },
    close: async () => {
      for (const seat of untouched.values()) await seat[Symbol.asyncDispose]();
    },
  };
}
