import { randomUUID } from "node:crypto";
import type { Awaitable } from "../contract/awaitable.ts";
import {
  addressBudgets,
  budgets as keyBudgets,
  type AddressBudget,
  type AddressBudgetName,
  type BudgetName,
} from "../contract/budgets.ts";
import { mostSkew_ms } from "../contract/clock-skew.ts";
import type { Clock } from "../contract/clock.ts";
import { rateLimited } from "../contract/problem.ts";
import { findAddressGroup } from "../network/ip-address.ts";
import { dropEndedCounts, readOtherCounts, writeCounts } from "../store/keys.ts";
import type { Store } from "../store/store.ts";
import { digestOf } from "../text/digest.ts";

/**
 * What keys, and the addresses of strangers, have spent in their running windows (api-spec.md,
 * "Limits"). A window begins with its first request.
 *
 * A budget is one for all processes of a store, and none of them writes for each request: a process
 * counts for itself, reports to the others when it has counted some more, and reads their reports
 * then. Only unreported requests can be spent too much: two steps for each further process. And as
 * only what was spent counts, no one is refused who has stayed within the budget.
 */
export type Budgets = {
  /** Counts a request, or refuses it when the key's window is full. */
  readonly spend: (keyId: string, budget: BudgetName) => Awaitable<void>;
  /** Refuses where `spend` would, and counts nothing. */
  readonly requireLeft: (keyId: string, budget: BudgetName) => void;
  /** Counts a request of a client that no secret key identifies, by its address. */
  readonly spendByAddress: (address: string, budget: AddressBudgetName) => Awaitable<void>;
  /** Undoes one spending; the other processes see that with the next report. */
  readonly giveBack: (address: string, budget: AddressBudgetName) => void;
};

/** What one process has counted of a budget, from the first request on. */
type Window = {
  /** Whose requests, and of which budget. */
  readonly name: string;
  /** By the clock that never jumps. */
  readonly ends: number;
  readonly window_ms: number;
  /** Includes requests given back: as it never falls, `reported` reaches what a request awaits. */
  counted: number;
  /** How many of the counted requests were given back. */
  returned: number;
  /** How many of the counted requests the others can see. */
  reported: number;
  others: readonly OtherWindow[];
  reporting: Promise<boolean> | undefined;
};

type OtherWindow = { readonly ends: number; readonly spent: number };

/** Reports a window to the other processes, and brings their reports; false where it cannot. */
export type ReportWindow = (window: Window) => Promise<boolean>;

type Budget = AddressBudget & { readonly step: number; readonly most: number };

/** A budget forgets the oldest of more addresses: strangers must not fill the memory. */
const mostAddresses = 10_000;

export function createBudgets(clock: Pick<Clock, "monotonic">, report?: ReportWindow): Budgets {
  const { monotonic } = clock;
  const windows = createWindows(monotonic);

  function spendFrom(window: Window, { limit, step }: Budget): Awaitable<void> {
    requireLeft(window, limit, monotonic());
    window.counted += 1;
    const unreported = window.counted - window.reported;
    if (unreported < step || report === undefined) return undefined;
    window.reporting ??= report(window);
    if (unreported < 2 * step) return undefined;
    return waitForReport(window, window.counted - 2 * step, report).then(() => {
      if (countSpent(window) + countOthers(window, monotonic()) <= limit) return;
      giveBackTo(window);
      throw rateLimited();
    });
  }

  /** Of many that come at once, a turn reports only those that were there when it began. */
  async function waitForReport(window: Window, count: number, send: ReportWindow): Promise<void> {
    while (window.reported <= count && window.ends > monotonic()) {
      window.reporting ??= send(window);
      if (!(await window.reporting)) return;
    }
  }

  return {
    spend: (keyId, budget) => {
      const { limit, window_ms } = keyBudgets[budget];
      // Every key has a row in the store, so their number is limited there.
      const whole = { limit, window_ms, step: limit / 20, most: Infinity };
      return spendFrom(windows.open(budget, `${keyId} ${budget}`, whole), whole);
    },
    requireLeft: (keyId, budget) => {
      const now = monotonic();
      const window = windows.find(budget, `${keyId} ${budget}`);
      if (window !== undefined && window.ends > now) {
        requireLeft(window, keyBudgets[budget].limit, now);
      }
    },
    spendByAddress: (address, budget) => {
      const { limit, window_ms, step = limit / 4 }: AddressBudget = addressBudgets[budget];
      const whole = { limit, window_ms, step, most: mostAddresses };
      return spendFrom(windows.open(budget, nameAddress(address, budget), whole), whole);
    },
    giveBack: (address, budget) => {
      const window = windows.find(budget, nameAddress(address, budget));
      if (window !== undefined) giveBackTo(window);
    },
  };
}

/** The windows of each budget. */
function createWindows(monotonic: () => number) {
  /** All windows of a budget are equally long, so each map keeps them in the order they end. */
  const byBudget = new Map<string, Map<string, Window>>();

  return {
    find: (budget: string, name: string) => byBudget.get(budget)?.get(name),
    /** The running window, or a new one. */
    open: (budget: string, name: string, { window_ms, most }: Budget): Window => {
      const windows = byBudget.get(budget) ?? new Map<string, Window>();
      byBudget.set(budget, windows);
      const now = monotonic();
      const before = windows.get(name);
      if (before !== undefined && before.ends > now) return before;
      windows.delete(name);
      for (const [oldest, { ends }] of windows) {
        if (ends > now && windows.size < most) break;
        windows.delete(oldest);
      }
      // What others have reported before is still true when a new window begins.
      const others = before?.others ?? [];
      const counts = { counted: 0, returned: 0, reported: 0, reporting: undefined };
      const window: Window = { name, ends: now + window_ms, window_ms, ...counts, others };
      windows.set(name, window);
      return window;
    },
  };
}

/** No client's address is ever written down. */
function nameAddress(address: string, budget: AddressBudgetName): string {
  return `address ${digestOf(`${budget} ${findAddressGroup(address)}`)}`;
}

function giveBackTo(window: Window): void {
  if (window.returned < window.counted) window.returned += 1;
}

function requireLeft(window: Window, limit: number, now: number): void {
  if (countSpent(window) + countOthers(window, now) >= limit) throw rateLimited();
}

function countSpent({ counted, returned }: Window): number {
  return counted - returned;
}

function countOthers({ others }: Window, now: number): number {
  let sum = 0;
  for (const { ends, spent } of others) if (ends > now) sum += spent;
  return sum;
}

const longest_ms = Math.max(
  ...[...Object.values(keyBudgets), ...Object.values(addressBudgets)].map((one) => one.window_ms),
);
const dropEvery_ms = 60_000;
/** A store that takes no write is not tried again with each request. */
const pause_ms = 1000;

export function createWindowReport(store: Pick<Store, "db" | "write">, clock: Clock): ReportWindow {
  const process = randomUUID();
  /** By name: a window that has ended is not reported beside the one that came after it. */
  const waiting = new Map<string, Window>();
  let running: Promise<boolean> = Promise.resolve(true);
  let next: Promise<boolean> | undefined;
  let droppedAt = -Infinity;
  let refusedAt = -Infinity;

  /** All that waits by the time of a turn shares its write and its read. */
  async function takeTurn(before: Promise<boolean>): Promise<boolean> {
    await before;
    next = undefined;
    const windows = [...waiting.values()];
    waiting.clear();
    try {
      await exchange(windows);
      return true;
    } catch {
      // The requests themselves report a fault of the store.
      refusedAt = clock.monotonic();
      return false;
    }
  }

  async function exchange(windows: readonly Window[]): Promise<void> {
    const at = { now: clock.now(), monotonic: clock.monotonic() };
    const counted = windows.map((window) => window.counted);
    const rows = windows.map((window) => {
      const ends_at = at.now + Math.ceil(window.ends - at.monotonic);
      return { name: window.name, process, spent: countSpent(window), ends_at };
    });
    await writeCounts(store, rows);
    for (const [index, window] of windows.entries()) {
      window.reported = counted[index] ?? window.reported;
    }
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
    waiting.set(window.name, window);
    if (next === undefined) {
      next = takeTurn(running);
      running = next;
    }
    return next;
  }

  return (window) => {
    const isRefused = clock.monotonic() - refusedAt < pause_ms;
    const reported = isRefused ? Promise.resolve(false) : wait(window);
    return reported.finally(() => {
      window.reporting = undefined;
    });
  };
}

/** What lies further ahead was written before a clock was set back. */
function latest(now: number, window_ms: number): number {
  return now + window_ms + mostSkew_ms;
}
