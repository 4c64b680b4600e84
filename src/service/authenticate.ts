import type { ApiRequest } from "../contract/api-message.ts";
import { andThen, type Awaitable } from "../contract/awaitable.ts";
import { messages } from "../contract/messages.ts";
import { unauthorized } from "../contract/problem.ts";
import type { ClientHolder, KeyHolder } from "../store/keys.ts";
import { readShownKey } from "../text/bearer-token.ts";
import { isClientToken } from "../text/client-token.ts";
import type { ClientKeyCache, KeyCache } from "./key-cache.ts";

type Shown = Pick<ApiRequest, "headers">;

/** The parameter of a query that shows a key, at every endpoint (api-spec.md, "Authentication"). */
export const keyParameter = "api_key";

/** Finds the key in the header or in the query. */
export function authenticate(
  request: Shown,
  query: URLSearchParams,
  keyCache: KeyCache,
): Awaitable<KeyHolder> {
  const token = readShown(request, query, ofKeys);
  return andThen(keyCache.find(token), (holder) => {
    if (holder !== undefined) return holder;
    throw unauthorized(isClientToken(token) ? messages.client_key_here : messages.key_invalid);
  });
}

/** Finds an app's key; no other key is good for what apps ask. */
export function authenticateApp(
  request: Shown,
  query: URLSearchParams,
  clientKeys: ClientKeyCache,
): Awaitable<ClientHolder> {
  return andThen(clientKeys.find(readShown(request, query, ofClientKeys)), (holder) => {
    if (holder === undefined) throw unauthorized(messages.client_key_needed);
    if (holder.project.suspended) throw unauthorized(messages.account_suspended);
    return holder;
  });
}

/** Where no key is needed, any is let be but an app's, which is for what apps ask alone. */
export function refuseClientKey({ headers }: Shown, query: URLSearchParams): void {
  const token = readShownKey(headers["authorization"] ?? "") ?? "";
  const isShown = [token, ...query.getAll("api_key")].some((given) => isClientToken(given.trim()));
  if (isShown) throw unauthorized(messages.client_key_here);
}

/** What is said where none can be read: how to send the kind of key that is wanted there. */
type Wanting = { readonly missing: string; readonly malformed: string };
const ofKeys: Wanting = { missing: messages.key_missing, malformed: messages.key_malformed };
const ofClientKeys: Wanting = {
  missing: messages.client_key_missing,
  malformed: messages.client_key_malformed,
};

function readShown({ headers }: Shown, query: URLSearchParams, wanting: Wanting): string {
  return readToken(headers["authorization"] ?? "", query.getAll(keyParameter), wanting);
}

/** The same key may be sent twice; two different keys are refused. */
function readToken(header: string, parameters: readonly string[], wanting: Wanting): string {
  const headerToken = readShownKey(header);
  if (header.trim() !== "" && headerToken === undefined) {
    throw unauthorized(wanting.malformed);
  }
  if (headerToken !== undefined && parameters.length === 0) return headerToken;
  const tokens = [headerToken ?? "", ...parameters].map((token) => token.trim());
  const [token, ...others] = new Set(tokens.filter((given) => given !== ""));
  if (token === undefined) throw unauthorized(wanting.missing);
  if (others.length > 0) throw unauthorized(messages.key_ambiguous);
  return token;
}
