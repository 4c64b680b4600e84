import { randomUUID } from "node:crypto";
import type { Awaitable } from "../contract/awaitable.ts";
import { addressBudgets, budgets } from "../contract/budgets.ts";
import { mostSkew_ms } from "../contract/clock-skew.ts";
import type { Clock } from "../contract/clock.ts";
import { rateLimited } from "../contract/problem.ts";
import { dropEndedCounts, readOtherCounts, writeCounts } from "../store/keys.ts";
import type { Store } from "../store/store.ts";

/**
 * A budget is one for all processes of a store, and none of them writes for each request: a process
 * counts for itself, tells the others when it has counted some more, and reads what they told then.
 * Only what nobody has told yet can be spent too much: two steps for each further process. And as
 * only what was spent counts, nobody is refused who has stayed within the budget.
 */

/** What one process has counted of a budget, from the first request on. */
export type Window = {
  /** Whose requests, and of which budget. */
  readonly name: string;
  /** By the clock that never jumps. */
  readonly ends: number;
  readonly window_ms: number;
  /** Includes requests given back: it never falls, so `told` reaches what a request waits for. */
  counted: number;
  /** How many of the counted requests were given back. */
  returned: number;
  /** How many of the counted requests the others can see. */
  told: number;
  others: readonly OtherWindow[];
  telling: Promise<boolean> | undefined;
};

type OtherWindow = { readonly ends: number; readonly spent: number };

export type SharedBudget = {
  readonly limit: number;
  /** Requests between two reports to the other processes; after twice as many, requests wait. */
  readonly step: number;
};

/** Tells the other processes of a window, and brings what they have told; false where it cannot. */
export type Tell = (window: Window) => Promise<boolean>;

/** What others have told before is still true when a new window begins. */
export function openWindow(
  name: string,
  { now, window_ms }: { readonly now: number; readonly window_ms: number },
  before: Window | undefined,
): Window {
  const others = before?.others ?? [];
  const counts = { counted: 0, returned: 0, told: 0 };
  return { name, ends: now + window_ms, window_ms, ...counts, others, telling: undefined };
}

/**
 * Counts a request, or refuses it where all processes together have had enough; where there is
 * nobody to tell, this one counts for itself alone.
 */
export function spendFrom(
  window: Window,
  { limit, step }: SharedBudget,
  { monotonic }: Pick<Clock, "monotonic">,
  tell: Tell | undefined,
): Awaitable<void> {
  requireLeft(window, limit, monotonic());
  window.counted += 1;
  const untold = window.counted - window.told;
  if (untold < step || tell === undefined) return undefined;
  window.telling ??= tell(window);
  if (untold < 2 * step) return undefined;
  const isOver = () => window.ends <= monotonic();
  return waitUntilTold(window, window.counted - 2 * step, isOver, tell).then(() => {
    if (countSpent(window) + countOthers(window, monotonic()) <= limit) return;
    giveBackTo(window);
    throw rateLimited();
  });
}

/** Undoes one spending; the others see that with the next report. */
export function giveBackTo(window: Window): void {
  if (window.returned < window.counted) window.returned += 1;
}

function countSpent({ counted, returned }: Window): number {
  return counted - returned;
}

export function requireLeft(window: Window, limit: number, now: number): void {
  if (countSpent(window) + countOthers(window, now) >= limit) throw rateLimited();
}

/** Of many that come at once, a turn tells only of those that were there when it began. */
async function waitUntilTold(
  window: Window,
  count: number,
  isOver: () => boolean,
  tell: Tell,
): Promise<void> {
  while (window.told <= count && !isOver()) {
    window.telling ??= tell(window);
    if (!(await window.telling)) return;
  }
}

function countOthers({ others }: Window, now: number): number {
  let sum = 0;
  for (const { ends, spent } of others) if (ends > now) sum += spent;
  return sum;
}

const longest_ms = Math.max(
  ...[...Object.values(budgets), ...Object.values(addressBudgets)].map((one) => one.window_ms),
);
const dropEvery_ms = 60_000;
/** A store that takes no write is not tried again with each request. */
const pause_ms = 1000;

export function createTell(store: Pick<Store, "db" | "write">, clock: Clock): Tell {
  const process = randomUUID();
  /** By name: a window that is over by now is not told of beside the one that came after it. */
  const untold = new Map<string, Window>();
  let running: Promise<boolean> = Promise.resolve(true);
  let next: Promise<boolean> | undefined;
  let droppedAt = -Infinity;
  let refusedAt = -Infinity;

  /** All that is to be told by the time of a turn shares its write and its read. */
  async function takeTurn(before: Promise<boolean>): Promise<boolean> {
    await before;
    next = undefined;
    const windows = [...untold.values()];
    untold.clear();
    // Whatever is wrong with the store the requests themselves will meet.
    return exchange(windows).then(
      () => true,
      () => {
        refusedAt = clock.monotonic();
        return false;
      },
    );
  }

  async function exchange(windows: readonly Window[]): Promise<void> {
    const at = { now: clock.now(), monotonic: clock.monotonic() };
    const counted = windows.map((window) => window.counted);
    const rows = windows.map((window) => {
      const ends_at = at.now + Math.ceil(window.ends - at.monotonic);
      return { name: window.name, process, spent: countSpent(window), ends_at };
    });
    await writeCounts(store, rows);
    for (const [index, window] of windows.entries()) window.told = counted[index] ?? window.told;
    const names = rows.map(({ name }) => name);
    const found = await readOtherCounts(store.db, names, { process, now: at.now });
    for (const window of windows) window.others = found.flatMap((row) => readOther(row, window));
    if (at.monotonic - droppedAt >= dropEvery_ms) {
      droppedAt = at.monotonic;
      await dropEndedCounts(store, at.now, latest(at.now, longest_ms));
    }

    function readOther(row: (typeof found)[number], window: Window): readonly OtherWindow[] {
      if (row.name !== window.name || row.ends_at > latest(at.now, window.window_ms)) return [];
      return [{ spent: row.spent, ends: at.monotonic + row.ends_at - at.now }];
    }
  }

  /** The turn that comes next, and all that it takes along. */
  function wait(window: Window): Promise<boolean> {
    untold.set(window.name, window);
    if (next === undefined) {
      next = takeTurn(running);
      running = next;
    }
    return next;
  }

  return (window) => {
    const isRefused = clock.monotonic() - refusedAt < pause_ms;
    const told = isRefused ? Promise.resolve(false) : wait(window);
    return told.finally(() => {
      window.telling = undefined;
    });
  };
}

/** What lies further ahead was written before a clock was set back. */
function latest(now: number, window_ms: number): number {
  return now + window_ms + mostSkew_ms;
}
