import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { Clock } from "../contract/clock.ts";
import { findKeyHolder, type KeyHolder } from "../store/keys.ts";
import type { Store } from "../store/store.ts";
import { watchChanges } from "../store/watch-changes.ts";
import { isSameSecret } from "../text/same-secret.ts";
import { hashToken } from "./ids.ts";

/** The keys that were used lately, so that a request need not read its key from the store. */
export type KeyCache = {
  readonly find: (token: string) => Awaitable<KeyHolder | undefined>;
};

const mostKeys = 1000;

/**
 * A revoked key ends when the change is seen. Any change at all empties the cache, for it also
 * holds plans, roles and suspensions.
 */
export function createKeyCache(store: Store, clock: Pick<Clock, "monotonic">): KeyCache {
  const changes = watchChanges(store, clock);
  const holders = new Map<string, KeyHolder>();
  /** Of tokens that were found. A write empties the other map, and these stay true. */
  const hashes = new Map<string, string>();
  let epoch = -1;

  function findAt(current: number, token: string): Awaitable<KeyHolder | undefined> {
    if (current !== epoch || holders.size >= mostKeys) holders.clear();
    epoch = current;
    // Hashing the token would cost as much as everything else here.
    return holders.get(token) ?? readHolder(current, token);
  }

  function readHolder(current: number, token: string): Awaitable<KeyHolder | undefined> {
    if (hashes.size >= mostKeys) hashes.clear();
    const hash = hashes.get(token) ?? hashToken(token);
    return andThen(findKeyHolder(store.db, hash), (holder) => {
      if (holder === undefined || !isSameSecret(holder.token_hash, hash)) return undefined;
      hashes.set(token, hash);
      // Meanwhile a change that this answer does not know may have emptied the cache.
      if (current === epoch) holders.set(token, holder);
      return holder;
    });
  }

  return { find: (token) => andThen(changes.read(), (current) => findAt(current, token)) };
}
