import type { Awaitable } from "../contract/awaitable.ts";
import { keylessBudget } from "../contract/budgets.ts";
import type { Clock } from "../contract/clock.ts";
import { findAddressGroup } from "../network/ip-address.ts";
import { digestOf } from "../text/digest.ts";
import { openWindow, spendFrom, type Tell, type Window } from "./shared-windows.ts";

/** What strangers ask without a key, counted by their addresses: nothing else tells them apart. */
export type AddressCounter = {
  /** Counts a request, or refuses it when the address has had its share. */
  readonly spend: (address: string) => Awaitable<void>;
};

/** Of more than that the oldest are forgotten, so that nobody can fill the memory. */
const mostAddresses = 10_000;
/** Others are told of each quarter: strangers who ask now and then lead to no write. */
const shared = { limit: keylessBudget.limit, step: keylessBudget.limit / 4 };

export function createAddressCounter(clock: Pick<Clock, "monotonic">, tell?: Tell): AddressCounter {
  /** In the order in which they end, for all are equally long. */
  const windows = new Map<string, Window>();

  function makeRoom(now: number): void {
    for (const [group, { ends }] of windows) {
      if (ends > now && windows.size < mostAddresses) return;
      windows.delete(group);
    }
  }

  return {
    spend: (address) => {
      const now = clock.monotonic();
      const group = findAddressGroup(address);
      let window = windows.get(group);
      if (window === undefined || window.ends <= now) {
        windows.delete(group);
        makeRoom(now);
        window = openWindow(nameOf(group), now + keylessBudget.window_ms, window);
        windows.set(group, window);
      }
      return spendFrom(window, shared, clock, tell);
    },
  };
}

/** No visitor's address is ever written down. */
function nameOf(group: string): string {
  return `address ${digestOf(group)}`;
}
