import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { Clock, Random } from "../contract/clock.ts";
import { createFreshCache } from "../store/cache.ts";
import {
  findClientHolder,
  findKeyHolder,
  findKeyHolderById,
  type ClientHolder,
  type KeyHolder,
} from "../store/keys.ts";
import type { Store } from "../store/store.ts";
import { isSameSecret } from "../text/same-secret.ts";
import { createToken, hashToken } from "./ids.ts";

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

/** Hashing a token would cost as much as all other checks of a request, so they are the keys. */
const mostTokens = 1000;

export function createKeyCache(store: Store, clock: Pick<Clock, "monotonic">): KeyCache {
  /** The ids of keys by the tokens that stand for them here. */
  const lent = new Map<string, string>();
  const readByHash = createHashReader((hash) => findKeyHolder(store.db, hash));
  const read = (token: string) => {
    const keyId = lent.get(token);
    return keyId === undefined ? readByHash(token) : findKeyHolderById(store.db, keyId);
  };
  return {
    find: createFreshCache({ store, clock, most: mostTokens, read }),
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
  const read = createHashReader((hash) => findClientHolder(store.db, hash));
  return { find: createFreshCache({ store, clock, most: mostTokens, read }) };
}

/** Reads whose a token is by its hash. */
function createHashReader<Holder extends { readonly token_hash: string }>(
  find: (hash: string) => Awaitable<Holder | undefined>,
): (token: string) => Awaitable<Holder | undefined> {
  return (token) => {
    const hash = hashToken(token);
    return andThen(find(hash), (holder) =>
      holder !== undefined && isSameSecret(holder.token_hash, hash) ? holder : undefined,
    );
  };
}
