import { randomUUID } from "node:crypto";
import type { Awaitable } from "../contract/waiting.ts";
import {
  addressBudgets,
  budgets as keyBudgets,
  type AddressBudget,
  type AddressBudgetName,
  type BudgetName,
} from "../contract/limits.ts";
import { mostSkew_ms, type Clock } from "../contract/clock.ts";
import { rateLimited } from "../contract/problem.ts";
import { findAddressGroup } from "../network/ip-address.ts";
import { dropEndedCounts, readOtherCounts, writeCounts } from "../store/keys.ts";
import type { Store } from "../store/store.ts";
import { hashValue } from "../text/digest.ts";

/**
 * Enforces rate limits per key and per client IP address. Processes that share a database share
 * each limit. To avoid a write per request, each process reports its count only after several
 * requests, and then reads the other processes' counts. Only requests that are not reported yet can
 * exceed a limit. Rejected requests do not count.
 */
export type Budgets = {
  readonly spend: (keyId: string, budget: BudgetName) => Awaitable<void>;
  /** Throws if the key has reached the limit. Does not count a request. */
  readonly requireLeft: (keyId: string, budget: BudgetName) => void;
  /** Counts a request without a secret key against the limit for its IP address. */
  readonly spendByAddress: (address: string, budget: AddressBudgetName) => Awaitable<void>;
  /** Subtracts one request from the count. Other processes get the change with the next report. */
  readonly refund: (address: string, budget: AddressBudgetName) => void;
};

/** One process's count of requests against a limit, since the first request in the window. */
type BudgetWindow = {
  readonly name: string;
  /** The end of the window, on the monotonic clock. */
  readonly ends: number;
  readonly window_ms: number;
  /** Includes refunded requests, so it never decreases. `waitForReport` relies on that. */
  counted: number;
  returned: number;
  /** How many of the counted requests were reported to other processes. */
  reported: number;
  others: readonly OtherWindow[];
  reporting: Promise<boolean> | undefined;
};

type OtherWindow = { readonly ends: number; readonly spent: number };

/** Reports a window to the other processes and reads their reports. Returns false on failure. */
export type ReportWindow = (window: BudgetWindow) => Promise<boolean>;

type Budget = AddressBudget & { readonly step: number; readonly most: number };

/** The maximum number of IP addresses in memory. The oldest is dropped first. */
const mostAddresses = 10_000;

export function createBudgets(clock: Pick<Clock, "monotonic">, report?: ReportWindow): Budgets {
  const { monotonic } = clock;
  const windows = createWindows(monotonic);

  function spendFrom(window: BudgetWindow, { limit, step }: Budget): Awaitable<void> {
    requireLeft(window, limit, monotonic());
    window.counted += 1;
    const unreported = window.counted - window.reported;
    if (unreported < step || report === undefined) return undefined;
    window.reporting ??= report(window);
    if (unreported < 2 * step) return undefined;
    return waitForReport(window, window.counted - 2 * step, report).then(() => {
      if (countSpent(window) + countOthers(window, monotonic()) <= limit) return;
      refundTo(window);
      throw rateLimited();
    });
  }

  /**
   * Sends reports until more than `count` requests are reported. A report includes only requests
   * that were counted before it started, so one report may not be enough.
   */
  async function waitForReport(
    window: BudgetWindow,
    count: number,
    send: ReportWindow,
  ): Promise<void> {
    while (window.reported <= count && window.ends > monotonic()) {
      window.reporting ??= send(window);
      if (!(await window.reporting)) return;
    }
  }

  return {
    spend: (keyId, budget) => {
      const { limit, window_ms } = keyBudgets[budget];
      // The number of windows needs no maximum, because only existing keys have windows.
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
    refund: (address, budget) => {
      const window = windows.find(budget, nameAddress(address, budget));
      if (window !== undefined) refundTo(window);
    },
  };
}

function createWindows(monotonic: () => number) {
  /** Windows by limit. Of a limit's windows, the one added first ends first. */
  const byBudget = new Map<string, Map<string, BudgetWindow>>();

  return {
    find: (budget: string, name: string) => byBudget.get(budget)?.get(name),
    open: (budget: string, name: string, { window_ms, most }: Budget): BudgetWindow => {
      const windows = byBudget.get(budget) ?? new Map<string, BudgetWindow>();
      byBudget.set(budget, windows);
      const now = monotonic();
      const before = windows.get(name);
      if (before !== undefined && before.ends > now) return before;
      windows.delete(name);
      for (const [oldest, { ends }] of windows) {
        if (ends > now && windows.size < most) break;
        windows.delete(oldest);
      }
      // Keep the other processes' counts, because their windows may end later.
      const others = before?.others ?? [];
      const counts = { counted: 0, returned: 0, reported: 0, reporting: undefined };
      const window: BudgetWindow = { name, ends: now + window_ms, window_ms, ...counts, others };
      windows.set(name, window);
      return window;
    },
  };
}

/** Returns the window's name with a hash of the IP address, so that no IP address is stored. */
function nameAddress(address: string, budget: AddressBudgetName): string {
  return `address ${hashValue(`${budget} ${findAddressGroup(address)}`)}`;
}

function refundTo(window: BudgetWindow): void {
  if (window.returned < window.counted) window.returned += 1;
}

function requireLeft(window: BudgetWindow, limit: number, now: number): void {
  if (countSpent(window) + countOthers(window, now) >= limit) throw rateLimited();
}

function countSpent({ counted, returned }: BudgetWindow): number {
  return counted - returned;
}

function countOthers({ others }: BudgetWindow, now: number): number {
  let sum = 0;
  for (const { ends, spent } of others) if (ends > now) sum += spent;
  return sum;
}

const longest_ms = Math.max(
  ...[...Object.values(keyBudgets), ...Object.values(addressBudgets)].map((one) => one.window_ms),
);
const dropEvery_ms = 60_000;
/** The pause after a failed report. */
const pause_ms = 1000;

export function createWindowReport(store: Pick<Store, "db" | "write">, clock: Clock): ReportWindow {
  const process = randomUUID();
  const waiting = new Map<string, BudgetWindow>();
  let running: Promise<boolean> = Promise.resolve(true);
  let next: Promise<boolean> | undefined;
  let droppedAt = -Infinity;
  let failedAt = -Infinity;

  async function sendReport(before: Promise<boolean>): Promise<boolean> {
    await before;
    next = undefined;
    const windows = [...waiting.values()];
    waiting.clear();
    try {
      await exchange(windows);
      return true;
    } catch {
      // The error is not reported here, because requests already report database errors.
      failedAt = clock.monotonic();
      return false;
    }
  }

  async function exchange(windows: readonly BudgetWindow[]): Promise<void> {
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
      await dropEndedCounts(store, at.now, findLatestEnd(at.now, longest_ms));
    }

    function readOther(row: (typeof found)[number], window: BudgetWindow): readonly OtherWindow[] {
      const isValid = row.ends_at <= findLatestEnd(at.now, window.window_ms);
      if (row.name !== window.name || !isValid) return [];
      return [{ spent: row.spent, ends: at.monotonic + row.ends_at - at.now }];
    }
  }

  /** Adds a window to the next report, and resolves once that report was sent. */
  function wait(window: BudgetWindow): Promise<boolean> {
    waiting.set(window.name, window);
    if (next === undefined) {
      next = sendReport(running);
      running = next;
    }
    return next;
  }

  return (window) => {
    const hasJustFailed = clock.monotonic() - failedAt < pause_ms;
    const reported = hasJustFailed ? Promise.resolve(false) : wait(window);
    return reported.finally(() => {
      window.reporting = undefined;
    });
  };
}

/** Returns a window's latest plausible end. A later end means that a clock was set back. */
function findLatestEnd(now: number, window_ms: number): number {
  return now + window_ms + mostSkew_ms;
}
