import type { ApiRequest } from "../contract/api-message.ts";
import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { Clock, Random } from "../contract/clock.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { messages } from "../contract/messages.ts";
import { unauthorized } from "../contract/problem.ts";
import { createFreshCache } from "../store/cache.ts";
import {
  findClientHolder,
  findKeyHolder,
  findKeyHolderById,
  type ClientHolder,
  type KeyHolder,
} from "../store/keys.ts";
import type { Store } from "../store/store.ts";
import { readShownKey } from "../text/bearer-token.ts";
import { isClientToken } from "../text/client-token.ts";
import { createToken, hashToken } from "./ids.ts";

/** An API key or a client key, with its project. */
export type Holder = KeyHolder | ClientHolder;

/** Caches recently used keys. Other keys are read from the database. */
export type KeyCache = {
  readonly find: (token: string) => Awaitable<Holder | undefined>;
  /**
   * Returns a temporary token for the key. A resumed job uses this token, because the key's own
   * token is not stored. The token is valid only in this process, until the process ends.
   */
  readonly lendToken: (keyId: string, random: Random) => string;
};

/**
 * The maximum number of cached tokens. The cache avoids hashing, which takes as long as all other
 * checks of a request.
 */
const mostTokens = 1000;

export function createKeyCache(store: Store, clock: Pick<Clock, "monotonic">): KeyCache {
  /** The ids of keys by their temporary tokens. */
  const lent = new Map<string, string>();
  const read = (token: string): Awaitable<Holder | undefined> => {
    const keyId = lent.get(token);
    if (keyId !== undefined) return findKeyHolderById(store.db, keyId);
    const find = isClientToken(token) ? findClientHolder : findKeyHolder;
    return find(store.db, hashToken(token));
  };
  return {
    find: createFreshCache<Holder>({ store, clock, most: mostTokens, read }),
    lendToken: (keyId, random) => {
      const [known] = [...lent].find(([, id]) => id === keyId) ?? [];
      const token = known ?? createToken(random);
      lent.set(token, keyId);
      return token;
    },
  };
}

export function isApiKey(holder: Holder | null | undefined): holder is KeyHolder {
  return holder !== null && holder !== undefined && "scopes" in holder;
}

/** The query parameter that can contain the key, at every endpoint. */
export const keyParameter = "api_key";

type KeyedRequest = Pick<ApiRequest, "headers">;

/** Finds the key of a request. Returns null if the endpoint needs no key. */
export function authenticate(
  request: KeyedRequest,
  query: URLSearchParams,
  auth: Endpoint["auth"],
  keys: KeyCache,
): Awaitable<Holder | null> {
  if (auth === "none") return refuseClientKey(request, query);
  const isOfApp = auth === "client";
  const token = readToken(request, query, isOfApp ? ofClientKeys : ofKeys);
  return andThen(keys.find(token), (holder) => {
    if (holder === undefined || isApiKey(holder) === isOfApp) {
      throw unauthorized(refuseKind(token, isOfApp));
    }
    if (isOfApp && holder.project?.suspended === true) {
      throw unauthorized(messages.account_suspended);
    }
    return holder;
  });
}

function refuseKind(token: string, isOfApp: boolean): string {
  if (isOfApp) return messages.client_key_needed;
  return isClientToken(token) ? messages.client_key_here : messages.key_invalid;
}

/** Rejects a client key at an endpoint that needs no key. All other keys are ignored there. */
function refuseClientKey({ headers }: KeyedRequest, query: URLSearchParams): null {
  const token = readShownKey(headers["authorization"] ?? "") ?? "";
  const shown = [token, ...query.getAll(keyParameter)];
  if (shown.some((given) => isClientToken(given.trim()))) {
    throw unauthorized(messages.client_key_here);
  }
  return null;
}

/** The messages for a missing or malformed key, for the kind of key that the endpoint needs. */
type HowToSend = { readonly missing: string; readonly malformed: string };
const ofKeys: HowToSend = { missing: messages.key_missing, malformed: messages.key_malformed };
const ofClientKeys: HowToSend = {
  missing: messages.client_key_missing,
  malformed: messages.client_key_malformed,
};

/** Reads the token. The same key may be sent twice, but two different keys are rejected. */
function readToken({ headers }: KeyedRequest, query: URLSearchParams, how: HowToSend): string {
  const { authorization: header = "" } = headers;
  const parameters = query.getAll(keyParameter);
  const headerToken = readShownKey(header);
  if (header.trim() !== "" && headerToken === undefined) throw unauthorized(how.malformed);
  if (headerToken !== undefined && parameters.length === 0) return headerToken;
  const tokens = [headerToken ?? "", ...parameters].map((token) => token.trim());
  const [token, ...others] = new Set(tokens.filter((given) => given !== ""));
  if (token === undefined) throw unauthorized(how.missing);
  if (others.length > 0) throw unauthorized(messages.key_ambiguous);
  return token;
}
