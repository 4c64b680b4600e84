import type { ApiRequest } from "../contract/api-message.ts";
import { andThen, type Awaitable } from "../contract/awaitable.ts";
import { messages } from "../contract/messages.ts";
import { unauthorized } from "../contract/problem.ts";
import type { KeyHolder } from "../store/keys.ts";
import type { KeyCache } from "./key-cache.ts";

/** Finds the key in the header or in `api_key` (api-spec.md, "Authentication"). */
export function authenticate(
  { headers }: Pick<ApiRequest, "headers">,
  query: URLSearchParams,
  keyCache: KeyCache,
): Awaitable<KeyHolder> {
  const token = readToken(headers["authorization"] ?? "", query.getAll("api_key"));
  return andThen(keyCache.find(token), requireHolder);
}

function requireHolder(holder: KeyHolder | undefined): KeyHolder {
  if (holder === undefined) throw unauthorized(messages.key_invalid);
  return holder;
}

/** As clients write it: `Token x`, `Token token=x`, `Token token="x"`, `Bearer x`. */
const authorization = /^(?:token|bearer)[ \t]+(?:token=)?("?)([^\s",]+)\1[ \t]*$/i;

/** The same key may be sent twice; two different keys are refused. */
function readToken(header: string, parameters: readonly string[]): string {
  const headerToken = authorization.exec(header)?.[2];
  if (header.trim() !== "" && headerToken === undefined) {
    throw unauthorized(messages.key_malformed);
  }
  if (headerToken !== undefined && parameters.length === 0) return headerToken;
  const tokens = [headerToken ?? "", ...parameters].map((token) => token.trim());
  const [token, ...others] = new Set(tokens.filter((given) => given !== ""));
  if (token === undefined) throw unauthorized(messages.key_missing);
  if (others.length > 0) throw unauthorized(messages.key_ambiguous);
  return token;
}
