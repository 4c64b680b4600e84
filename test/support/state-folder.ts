import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { Sql } from "../../src/sql/sql.ts";
import type { State } from "../../src/state/state.ts";
import type { StateTables } from "../../src/state/tables.ts";
import { createPlace, type StorePlace } from "./store-place.ts";

/** A place for the state of each test, and clocks that the test moves. */
export type StateFolder = {
  /** The time of day. */
  now: number;
  /** What the clock that never jumps has counted. */
  elapsed: number;
  /** Where the state is in a file. */
  readonly file: () => string;
  /** As another process opens it; what was opened is closed after the test. */
  readonly open: () => Promise<State>;
  /** Its tables alone, which are closed after the test as well. */
  readonly openSql: () => Promise<Sql<StateTables>>;
};

export function openStateForEach(): StateFolder {
  let place: StorePlace | undefined;
  let opened: { readonly close: () => Promise<void> }[] = [];
  const requirePlace = () => {
    if (place === undefined) throw new Error("a place is there in tests alone");
    return place;
  };
  const at: StateFolder = {
    now: 0,
    elapsed: 0,
    file: () => join(requirePlace().folder, "state.db"),
    open: async () => {
      const clock = { now: () => at.now, monotonic: () => at.elapsed };
      const random = { bytes: (count: number) => randomBytes(count) };
      const state = await requirePlace().openState({ clock, random });
      opened.push(state);
      return state;
    },
    openSql: async () => {
      const sql = await requirePlace().openStateSql();
      opened.push(sql);
      return sql;
    },
  };
  beforeEach(async () => {
    [at.now, at.elapsed, opened] = [Date.UTC(2026, 0, 15, 12), 0, []];
    place = await createPlace();
  });
  afterEach(async () => {
    for (const { close } of opened) await close();
    await place?.[Symbol.asyncDispose]();
  });
  return at;
}
