import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { Clock, Random } from "../contract/clock.ts";
import { findKeyHolder, findKeyHolderById, type KeyHolder } from "../store/keys.ts";
import type { Store } from "../store/store.ts";
import { watchChanges } from "../store/watch-changes.ts";
import { isSameSecret } from "../text/same-secret.ts";
import { createToken, hashToken } from "./ids.ts";

/** The keys that were used lately, so that a request need not read its key from the store. */
export type KeyCache = {
  readonly find: (token: string) => Awaitable<KeyHolder | undefined>;
  /**
   * A token that stands for the key as long as this process lives, and is known here alone: for a
   * job that goes on here, though nobody has shown its key.
   */
  readonly lendToken: (keyId: string, random: Random) => string;
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
  /** The ids of keys by the tokens that stand for them here. */
  const lent = new Map<string, string>();
  let epoch = -1;

  function findAt(current: number, token: string): Awaitable<KeyHolder | undefined> {
    if (current !== epoch || holders.size >= mostKeys) holders.clear();
    epoch = current;
    // Hashing the token would cost as much as everything else here.
    return holders.get(token) ?? readHolder(current, token);
  }

  function readHolder(current: number, token: string): Awaitable<KeyHolder | undefined> {
    const lentFor = lent.get(token);
    const found = lentFor === undefined ? readByHash(token) : findKeyHolderById(store.db, lentFor);
    return andThen(found, (holder) => {
      // Meanwhile a change that this answer does not know may have emptied the cache.
      if (holder !== undefined && current === epoch) holders.set(token, holder);
      return holder;
    });
  }

  function readByHash(token: string): Awaitable<KeyHolder | undefined> {
    if (hashes.size >= mostKeys) hashes.clear();
    const hash = hashes.get(token) ?? hashToken(token);
    return andThen(findKeyHolder(store.db, hash), (holder) => {
      if (holder === undefined || !isSameSecret(holder.token_hash, hash)) return undefined;
      hashes.set(token, hash);
      return holder;
    });
  }

  return {
    find: (token) => andThen(changes.read(), (current) => findAt(current, token)),
    lendToken: (keyId, random) => {
      const [known] = [...lent].find(([, id]) => id === keyId) ?? [];
      const token = known ?? createToken(random);
      lent.set(token, keyId);
      return token;
    },
  };
}
