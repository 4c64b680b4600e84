import type { Awaitable } from "../contract/awaitable.ts";
import { addressBudgets, type AddressBudget, type AddressBudgetName } from "../contract/budgets.ts";
import type { Clock } from "../contract/clock.ts";
import { findAddressGroup } from "../network/ip-address.ts";
import { digestOf } from "../text/digest.ts";
import { giveBackTo, openWindow, spendFrom, type Tell, type Window } from "./shared-windows.ts";

/**
 * What strangers ask, without a key or with one that everybody can read, counted by their
 * addresses: nothing else tells them apart.
 */
export type AddressCounter = {
  /** Counts a request, or refuses it when the address has had its share. */
  readonly spend: (address: string, budget: AddressBudgetName) => Awaitable<void>;
  /** Undoes one spending. */
  readonly giveBack: (address: string, budget: AddressBudgetName) => void;
};

/** Each budget keeps this many addresses and forgets the oldest, to bound the memory. */
const mostAddresses = 10_000;
/** Others are told of each quarter: strangers who ask now and then lead to no write. */
const parts = 4;

export function createAddressCounter(clock: Pick<Clock, "monotonic">, tell?: Tell): AddressCounter {
  const budgets = new Map<AddressBudgetName, Map<string, Window>>();

  /** All windows of a budget are equally long, so the map keeps them in the order they end. */
  function findWindows(budget: AddressBudgetName): Map<string, Window> {
    const windows = budgets.get(budget) ?? new Map<string, Window>();
    budgets.set(budget, windows);
    return windows;
  }

  return {
    spend: (address, budget) => {
      const { limit, window_ms, step = limit / parts }: AddressBudget = addressBudgets[budget];
      const windows = findWindows(budget);
      const now = clock.monotonic();
      const name = nameOf(findAddressGroup(address), budget);
      let window = windows.get(name);
      if (window === undefined || window.ends <= now) {
        windows.delete(name);
        makeRoom(windows, now);
        window = openWindow(name, { now, window_ms }, window);
        windows.set(name, window);
      }
      return spendFrom(window, { limit, step }, clock, tell);
    },
    giveBack: (address, budget) => {
      const window = findWindows(budget).get(nameOf(findAddressGroup(address), budget));
      if (window !== undefined) giveBackTo(window);
    },
  };
}

function makeRoom(windows: Map<string, Window>, now: number): void {
  for (const [name, { ends }] of windows) {
    if (ends > now && windows.size < mostAddresses) return;
    windows.delete(name);
  }
}

/** No visitor's address is ever written down. */
function nameOf(group: string, budget: AddressBudgetName): string {
  return `address ${digestOf(`${budget} ${group}`)}`;
}
