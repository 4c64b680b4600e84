import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { openState, type State } from "../../src/state/state.ts";
import { memoryFolder } from "./memory-folder.ts";

/** A folder for the state of each test, and clocks that the test moves. */
export type StateFolder = {
  /** The time of day. */
  now: number;
  /** What the clock that never jumps has counted. */
  elapsed: number;
  readonly file: () => string;
  /** As another process opens it; what was opened is closed after the test. */
  readonly open: () => Promise<State>;
};

export function openStateForEach(): StateFolder {
  let folder = "";
  let opened: State[] = [];
  const at: StateFolder = {
    now: 0,
    elapsed: 0,
    file: () => join(folder, "state.db"),
    open: async () => {
      const clock = { now: () => at.now, monotonic: () => at.elapsed };
      const random = { bytes: (count: number) => randomBytes(count) };
      const state = await openState(at.file(), { clock, random });
      opened.push(state);
      return state;
    },
  };
  beforeEach(async () => {
    [at.now, at.elapsed, opened] = [Date.UTC(2026, 0, 15, 12), 0, []];
    folder = await mkdtemp(join(memoryFolder, "waypost-state-"));
  });
  afterEach(async () => {
    for (const state of opened) await state.close();
    await rm(folder, { recursive: true });
  });
  return at;
}
