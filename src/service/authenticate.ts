import { timingSafeEqual } from "node:crypto";
import { messages } from "../contract/messages.ts";
import { unauthorized } from "../contract/problem.ts";
import type { KeyHolder } from "../store/keys.ts";
import { hashToken } from "./ids.ts";
import type { Keyring } from "./keyring.ts";

/** Who is asking: the key in the header or in `api_key` (api-spec.md, "Authentication"). */
export async function authenticate(
  request: Request,
  query: URLSearchParams,
  keyring: Keyring,
): Promise<KeyHolder> {
  const token = readToken(request.headers.get("authorization"), query.get("api_key"));
  const hash = hashToken(token);
  const holder = await keyring.find(hash);
  if (holder === undefined || !isSame(holder.token_hash, hash)) {
    throw unauthorized(messages.key_invalid);
  }
  return holder;
}

function readToken(header: string | null, parameter: string | null): string {
  const [, headerToken] = /^token +(\S+) *$/i.exec(header ?? "") ?? [];
  const queryToken = parameter?.trim() === "" ? undefined : (parameter ?? undefined);
  const isTwoFold = headerToken !== undefined && queryToken !== undefined;
  if (isTwoFold && headerToken !== queryToken) throw unauthorized(messages.key_ambiguous);
  const token = headerToken ?? queryToken;
  if (token === undefined) throw unauthorized(messages.key_missing);
  return token;
}

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
