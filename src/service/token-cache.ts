import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { Clock } from "../contract/clock.ts";
import type { Store } from "../store/store.ts";
import { watchChanges } from "../store/watch-changes.ts";
import { isSameSecret } from "../text/same-secret.ts";
import { hashToken } from "./ids.ts";

type Find<Holder> = (token: string) => Awaitable<Holder | undefined>;

const mostTokens = 1000;

/**
 * Whose the tokens are that were shown lately, so that a request need not read its key from the
 * store. Any change at all empties it, for it also holds plans, roles and suspensions; a revoked
 * key ends when the change is seen.
 */
export function createTokenCache<Holder>(
  store: Store,
  clock: Pick<Clock, "monotonic">,
  read: Find<Holder>,
): Find<Holder> {
  const changes = watchChanges(store, clock);
  const holders = new Map<string, Holder>();
  let epoch = -1;

  function readAt(current: number, token: string): Awaitable<Holder | undefined> {
    return andThen(read(token), (holder) => {
      // Meanwhile a change that this answer does not know may have emptied the cache.
      if (holder !== undefined && current === epoch) holders.set(token, holder);
      return holder;
    });
  }

  return (token) =>
    andThen(changes.read(), (current) => {
      if (current !== epoch || holders.size >= mostTokens) holders.clear();
      epoch = current;
      // Hashing the token would cost as much as everything else here.
      return holders.get(token) ?? readAt(current, token);
    });
}

/** Reads whose a token is by its hash. That of a token that was found stays true after a write. */
export function createHashReader<Holder extends { readonly token_hash: string }>(
  find: (hash: string) => Awaitable<Holder | undefined>,
): Find<Holder> {
  const hashes = new Map<string, string>();
  return (token) => {
    if (hashes.size >= mostTokens) hashes.clear();
    const hash = hashes.get(token) ?? hashToken(token);
    return andThen(find(hash), (holder) => {
      if (holder === undefined || !isSameSecret(holder.token_hash, hash)) return undefined;
      hashes.set(token, hash);
      return holder;
    });
  };
}
