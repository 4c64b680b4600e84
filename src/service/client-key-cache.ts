import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { Clock } from "../contract/clock.ts";
import { findClientHolder, type ClientHolder } from "../store/client-keys.ts";
import type { Store } from "../store/store.ts";
import { watchChanges } from "../store/watch-changes.ts";
import { isSameSecret } from "../text/same-secret.ts";
import { hashToken } from "./ids.ts";

/** The client keys that were used lately: an app asks at each start, and there may be many. */
export type ClientKeyCache = {
  readonly find: (token: string) => Awaitable<ClientHolder | undefined>;
};

const mostKeys = 1000;

/** Any change at all empties it, for it also holds plans and suspensions. */
export function createClientKeyCache(
  store: Store,
  clock: Pick<Clock, "monotonic">,
): ClientKeyCache {
  const changes = watchChanges(store, clock);
  const holders = new Map<string, ClientHolder>();
  let epoch = -1;

  function read(token: string, current: number): Awaitable<ClientHolder | undefined> {
    const hash = hashToken(token);
    return andThen(findClientHolder(store.db, hash), (holder) => {
      if (holder === undefined || !isSameSecret(holder.token_hash, hash)) return undefined;
      // Meanwhile a change that this answer does not know may have emptied the cache.
      if (current === epoch) holders.set(token, holder);
      return holder;
    });
  }

  return {
    find: (token) =>
      andThen(changes.read(), (current) => {
        if (current !== epoch || holders.size >= mostKeys) holders.clear();
        epoch = current;
        return holders.get(token) ?? read(token, current);
      }),
  };
}
