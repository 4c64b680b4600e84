import { keylessBudget } from "../contract/budgets.ts";
import type { Clock } from "../contract/clock.ts";
import { rateLimited } from "../contract/problem.ts";
import { findAddressGroup } from "../network/ip-address.ts";

/** What strangers ask without a key, counted by their addresses: nothing else tells them apart. */
export type AddressCounter = {
  /** Counts a request, or refuses it when the address has had its share. */
  readonly spend: (address: string) => void;
};

type Window = { readonly ends: number; spent: number };

/** Of more than that the oldest are forgotten, so that nobody can fill the memory. */
const mostAddresses = 10_000;

export function createAddressCounter({ monotonic }: Pick<Clock, "monotonic">): AddressCounter {
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
      const now = monotonic();
      const group = findAddressGroup(address);
      const open = windows.get(group);
      if (open !== undefined && open.ends > now) {
        if (open.spent >= keylessBudget.limit) throw rateLimited();
        open.spent += 1;
        return;
      }
      windows.delete(group);
      makeRoom(now);
      windows.set(group, { ends: now + keylessBudget.window_ms, spent: 1 });
    },
  };
}
