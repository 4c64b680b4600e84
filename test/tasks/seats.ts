import type { TestServer } from "../support/mcp-http.ts";
import { openEmbeddedSeat } from "./embedded-seat.ts";
import { openRemoteSeat } from "./remote-seat.ts";
import { runTask, type Seat, type Spent } from "./run-task.ts";
import { openStdioSeat } from "./stdio-seat.ts";
import type { Line, Setting, Task } from "./task.ts";

/** A seat with the start state and setting of a task. */
type UnchangedSeat = {
  readonly start: Task["start"];
  readonly setting: string;
  readonly seat: Seat;
};

/** Runs each task with a new project, or with one that an earlier task did not change. */
export function createSeats(line: Line, readTestServer: () => TestServer) {
  const untouched: UnchangedSeat[] = [];

  const open = (setting: Setting) => {
    if (setting.isRemote) return openRemoteSeat(readTestServer(), line, setting);
    if (setting.isStdio) return openStdioSeat(line, setting);
    return openEmbeddedSeat(line, setting);
  };

  async function take({ start, setting = {} }: Task): Promise<Seat> {
    const text = JSON.stringify(setting);
    const place = untouched.findIndex((kept) => kept.start === start && kept.setting === text);
    const [kept] = place < 0 ? [] : untouched.splice(place, 1);
    if (kept !== undefined) return kept.seat;
    const seat = await open(setting);
    await start?.(seat.place);
    return seat;
  }

  return {
    run: async (task: Task): Promise<Spent> => {
      const seat = await take(task);
      const spent = await runTask(task, seat);
      const { start, setting = {} } = task;
      if (seat.isUntouched()) untouched.push({ start, setting: JSON.stringify(setting), seat });
      else await seat[Symbol.asyncDispose]();
      return spent;
    },
    close: async () => {
      for (const { seat } of untouched) await seat[Symbol.asyncDispose]();
    },
  };
}
