import { timingSafeEqual, randomBytes } from "node:crypto";

/** Reads, compares and describes keys and other secrets. */

/** Reads the token of an `Authorization: Bearer …` header; undefined for other headers. */
export function readBearer(authorization: string | null | undefined): string | undefined {
  const [, token] = /^bearer +(\S+) *$/i.exec(authorization ?? "") ?? [];
  return token;
}

/** The formats of REST clients: `Token x`, `Token token=x`, `Token token="x"`, `Bearer x`. */
const authorization = /^(?:token|bearer)[ \t]+(?:token=)?("?)([^\s",]+)\1[ \t]*$/i;

/** Reads the API key of a header in one of these formats; undefined for other headers. */
export function readHeaderKey(header: string): string | undefined {
  return authorization.exec(header)?.[2];
}

/** The prefix of every client key, so that people recognize one anywhere. */
export const clientPrefix = "waypost_client_";

export function isClientToken(token: string): boolean {
  return token.startsWith(clientPrefix);
}

/** Compares two secrets in constant time. The duration reveals only their length. */
export function isSameSecret(given: string | Uint8Array, expected: string | Uint8Array): boolean {
  const [one, other] = [toBytes(given), toBytes(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function toBytes(secret: string | Uint8Array): Uint8Array {
  return typeof secret === "string" ? Buffer.from(secret) : secret;
}

/**
 * Masks a secret differently in each response. Pages are compressed, and a compressed page's size
 * would reveal whether it contains a guess (BREACH).
 */
export function maskSecret(secret: Uint8Array): string {
  const mask = randomBytes(secret.length);
  return Buffer.concat([mask, combine(mask, secret)]).toString("base64url");
}

export function isMasked(masked: string, secret: Uint8Array): boolean {
  const bytes = Buffer.from(masked, "base64url");
  const { length } = secret;
  // Decoders skip characters outside the alphabet, so re-encoding detects them.
  if (bytes.length !== 2 * length || bytes.toString("base64url") !== masked) return false;
  return isSameSecret(combine(bytes.subarray(0, length), bytes.subarray(length)), secret);
}

function combine(one: Uint8Array, other: Uint8Array): Buffer {
  return Buffer.from(one.map((byte, at) => byte ^ (other[at] ?? 0)));
}

/** Names a key by the end of its id, because the start may be a timestamp. Reveals no secret. */
export function nameKey({ id }: { readonly id: string }): string {
  return `…${id.slice(-8)}`;
}

/** An empty list means all scopes. */
export function describeKeyAccess(role: string, scopes: readonly string[]): string {
  return `role ${role}, ${scopes.length === 0 ? "all scopes" : scopes.join(", ")}`;
}
