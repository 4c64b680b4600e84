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

/** Reads of one token that are on the way. */
type Reads<Holder> = {
  latest: Read<Holder>;
  count: number;
  /** For all who ask while others are on the way that may not know the last change. */
  next: Promise<Holder | undefined> | undefined;
};

const mostTokens = 1000;
/** No change has this number. */
const never = -1;
/** Of one token at once: where each write makes it be read anew, the store would do little else. */
const mostReads = 2;

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
  const underWay = new Map<string, Reads<Holder>>();
  let epoch = never;

  function readAt(current: number, token: string): Awaitable<Holder | undefined> {
    return andThen(read(token), (holder) => {
      // Meanwhile a change that this answer does not know may have emptied the cache.
      if (holder !== undefined && current === epoch) holders.set(token, holder);
      return holder;
    });
  }

  function begin(token: string): Awaitable<Holder | undefined> {
    const answer = readAt(epoch, token);
    if (!(answer instanceof Promise)) return answer;
    const latest = { epoch, answer };
    const reads = underWay.get(token) ?? { latest, count: 0, next: undefined };
    underWay.set(token, Object.assign(reads, { latest, count: reads.count + 1 }));
    const end = () => {
      reads.count -= 1;
      if (reads.count === 0 && reads.next === undefined) underWay.delete(token);
    };
    answer.then(end, () => {
      // Whoever comes later asks for itself, though another read may still be on the way.
      if (reads.latest === latest) reads.latest = { epoch: never, answer };
      end();
    });
    return answer;
  }

  /** With others who ask for the same, as far as what they are told is no older than the asking. */
  function readShared(token: string): Awaitable<Holder | undefined> {
    const reads = underWay.get(token);
    if (reads?.latest.epoch === epoch) return reads.latest.answer;
    if (reads === undefined || reads.count < mostReads) return begin(token);
    const again = () => {
      reads.next = undefined;
      return begin(token);
    };
    return (reads.next ??= reads.latest.answer.then(again, again));
  }

  return (token) =>
    andThen(changes.read(), (current) => {
      if (current !== epoch || holders.size >= mostTokens) holders.clear();
      epoch = current;
      // Hashing the token would cost as much as everything else here.
      return holders.get(token) ?? readShared(token);
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
