import { timingSafeEqual, randomBytes } from "node:crypto";

/** Reads, compares and describes keys and other secrets. */

/** Reads the token of an `Authorization: Bearer …` header. Returns undefined for other headers. */
export function readBearer(authorization: string | null | undefined): string | undefined {
  const [, token] = /^bearer +(\S+) *$/i.exec(authorization ?? "") ?? [];
  return token;
}

/** The formats that REST clients use: `Token x`, `Token token=x`, `Token token="x"`, `Bearer x`. */
const authorization = /^(?:token|bearer)[ \t]+(?:token=)?("?)([^\s",]+)\1[ \t]*$/i;

/** Reads the API key of an `Authorization` header. Returns undefined for any other format. */
export function readHeaderKey(header: string): string | undefined {
  return authorization.exec(header)?.[2];
}

/** Every client key starts with this prefix, so that people can recognize client keys. */
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
 * Masks a secret in a different way in each response. Otherwise, an attacker could find it with
 * many guesses, because the size of a compressed page reveals whether it contains a guess (BREACH).
 */
export function maskSecret(secret: Uint8Array): string {
  const mask = randomBytes(secret.length);
  return Buffer.concat([mask, combine(mask, secret)]).toString("base64url");
}

export function isMasked(masked: string, secret: Uint8Array): boolean {
  const bytes = Buffer.from(masked, "base64url");
  const { length } = secret;
  // Encode the bytes again, because the decoder skips invalid characters.
  if (bytes.length !== 2 * length || bytes.toString("base64url") !== masked) return false;
  return isSameSecret(combine(bytes.subarray(0, length), bytes.subarray(length)), secret);
}

function combine(one: Uint8Array, other: Uint8Array): Buffer {
  return Buffer.from(one.map((byte, at) => byte ^ (other[at] ?? 0)));
}

/** Names a key by the end of its ID, because the start may be a timestamp. The ID is not secret. */
export function nameKey({ id }: { readonly id: string }): string {
  return `…${id.slice(-8)}`;
}

/** If `scopes` is empty, the key has all scopes. */
export function describeKeyAccess(role: string, scopes: readonly string[]): string {
  return `role ${role}, ${scopes.length === 0 ? "all scopes" : scopes.join(", ")}`;
}
