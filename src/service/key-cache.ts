import type { Awaitable } from "../contract/awaitable.ts";
import type { Clock, Random } from "../contract/clock.ts";
import { findClientHolder, type ClientHolder } from "../store/client-keys.ts";
import { findKeyHolder, findKeyHolderById, type KeyHolder } from "../store/keys.ts";
import type { Store } from "../store/store.ts";
import { createToken } from "./ids.ts";
import { createHashReader, createTokenCache } from "./token-cache.ts";

/** The keys that were used lately. */
export type KeyCache = {
  readonly find: (token: string) => Awaitable<KeyHolder | undefined>;
  /**
   * A token that stands for the key as long as this process lives, and is known here alone: for a
   * job that goes on here, though nobody has shown its key.
   */
  readonly lendToken: (keyId: string, random: Random) => string;
};

/** The client keys: an app asks at each start, and there may be many. */
export type ClientKeyCache = {
  readonly find: (token: string) => Awaitable<ClientHolder | undefined>;
};

export function createKeyCache(store: Store, clock: Pick<Clock, "monotonic">): KeyCache {
  /** The ids of keys by the tokens that stand for them here. */
  const lent = new Map<string, string>();
  const readByHash = createHashReader((hash) => findKeyHolder(store.db, hash));
  const find = createTokenCache(store, clock, (token) => {
    const keyId = lent.get(token);
    return keyId === undefined ? readByHash(token) : findKeyHolderById(store.db, keyId);
  });
  return {
    find,
    lendToken: (keyId, random) => {
      const [known] = [...lent].find(([, id]) => id === keyId) ?? [];
      const token = known ?? createToken(random);
      lent.set(token, keyId);
      return token;
    },
  };
}

export function createClientKeyCache(
  store: Store,
  clock: Pick<Clock, "monotonic">,
): ClientKeyCache {
  const readByHash = createHashReader((hash) => findClientHolder(store.db, hash));
  return { find: createTokenCache(store, clock, readByHash) };
}
