import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { Clock } from "../contract/clock.ts";
import type { Store } from "../store/store.ts";
import { watchChanges } from "../store/watch-changes.ts";
import { isSameSecret } from "../text/same-secret.ts";
import { hashToken } from "./ids.ts";

type Find<Holder> = (token: string) => Awaitable<Holder | undefined>;

type Read<Holder> = {
  /** Which change was the last one that it surely knows. */
  readonly epoch: number;
  readonly answer: Promise<Holder | undefined>;
};

const mostTokens = 1000;
/** No change has this number. */
const never = -1;

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
  /** The last read of each token that is on the way. */
  const underWay = new Map<string, Read<Holder>>();
  let epoch = never;

  function readAt(current: number, token: string): Awaitable<Holder | undefined> {
    return andThen(read(token), (holder) => {
      // Meanwhile a change that this answer does not know may have emptied the cache.
      if (holder !== undefined && current === epoch) holders.set(token, holder);
      return holder;
    });
  }

  /** Shares a read that is under way, unless something changed after it began. */
  function readShared(token: string): Awaitable<Holder | undefined> {
    const latest = underWay.get(token);
    if (latest?.epoch === epoch) return latest.answer;
    const answer = readAt(epoch, token);
    if (!(answer instanceof Promise)) return answer;
    const own = { epoch, answer };
    underWay.set(token, own);
    // A failed read is not shared with later requests.
    const end = () => void (underWay.get(token) === own && underWay.delete(token));
    answer.then(end, end);
    return answer;
  }

  return (token) =>
    andThen(changes.read(), (current) => {
      if (current !== epoch || holders.size >= mostTokens) holders.clear();
      epoch = current;
      // Hashing the token would cost as much as everything else here.
      return holders.get(token) ?? readShared(token);
    });
}

/** Reads whose a token is by its hash. */
export function createHashReader<Holder extends { readonly token_hash: string }>(
  find: (hash: string) => Awaitable<Holder | undefined>,
): Find<Holder> {
  return (token) => {
    const hash = hashToken(token);
    return andThen(find(hash), (holder) =>
      holder !== undefined && isSameSecret(holder.token_hash, hash) ? holder : undefined,
    );
  };
}
