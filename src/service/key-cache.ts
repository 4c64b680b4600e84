import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../contract/clock.ts";
import { watchChanges } from "../store/changes.ts";
import { findKeyHolder, type KeyHolder } from "../store/keys.ts";
import type { Store } from "../store/store.ts";
import { hashToken } from "./ids.ts";

/** The keys that were used lately, so that a request need not look its key up again. */
export type KeyCache = { readonly find: (token: string) => Promise<KeyHolder | undefined> };

const keptKeys = 1000;

/**
 * A revoked key ends when the change is seen. Any change at all empties the ring: plans, roles and
 * suspensions stand in it too.
 */
export function createKeyCache(store: Store, clock: Pick<Clock, "monotonic">): KeyCache {
  const changes = watchChanges(store, clock);
  const kept = new Map<string, KeyHolder>();
  let epoch = -1;

  return {
    find: async (token) => {
      const current = await changes.read();
      if (current !== epoch || kept.size >= keptKeys) kept.clear();
      epoch = current;
      // To hash a token once more costs as much as all the rest of finding its key.
      const known = kept.get(token);
      if (known !== undefined) return known;
      const hash = hashToken(token);
      const holder = await findKeyHolder(store.db, hash);
      if (holder === undefined || !isSame(holder.token_hash, hash)) return undefined;
      // Meanwhile the ring may have been emptied for a change that this answer does not know.
      if (current === epoch) kept.set(token, holder);
      return holder;
    },
  };
}

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
