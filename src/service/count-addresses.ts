import type { Awaitable } from "../contract/awaitable.ts";
import { addressBudgets, type AddressBudgetName } from "../contract/budgets.ts";
import type { Clock } from "../contract/clock.ts";
import { findAddressGroup } from "../network/ip-address.ts";
import { digestOf } from "../text/digest.ts";
import { openWindow, spendFrom, type Tell, type Window } from "./shared-windows.ts";

/**
 * What strangers ask, without a key or with one that everybody can read, counted by their
 * addresses: nothing else tells them apart.
 */
export type AddressCounter = {
  /** Counts a request, or refuses it when the address has had its share. */
  readonly spend: (address: string, budget: AddressBudgetName) => Awaitable<void>;
};

/** Of more than that the oldest are forgotten, so that nobody can fill the memory. */
const mostAddresses = 10_000;
/** Others are told of each quarter: strangers who ask now and then lead to no write. */
const parts = 4;

export function createAddressCounter(clock: Pick<Clock, "monotonic">, tell?: Tell): AddressCounter {
  /** In the order in which they end, for all are equally long. */
  const windows = new Map<string, Window>();

  function makeRoom(now: number): void {
    for (const [name, { ends }] of windows) {
      if (ends > now && windows.size < mostAddresses) return;
      windows.delete(name);
    }
  }

  return {
    spend: (address, budget) => {
      const { limit, window_ms } = addressBudgets[budget];
      const now = clock.monotonic();
      const name = nameOf(findAddressGroup(address), budget);
      let window = windows.get(name);
      if (window === undefined || window.ends <= now) {
        windows.delete(name);
        makeRoom(now);
        window = openWindow(name, now + window_ms, window);
        windows.set(name, window);
      }
      return spendFrom(window, { limit, step: limit / parts }, clock, tell);
    },
  };
}

/** No visitor's address is ever written down. */
function nameOf(group: string, budget: AddressBudgetName): string {
  return `address ${digestOf(`${budget} ${group}`)}`;
}
