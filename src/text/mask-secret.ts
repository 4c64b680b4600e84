import { randomBytes } from "node:crypto";
import { isSameSecret } from "./same-secret.ts";

/**
 * Writes a secret differently in each page. Pages are compressed, and the size of a compressed page
 * shows whether a text occurs in it twice.
 */
export function maskSecret(secret: Uint8Array): string {
  const mask = randomBytes(secret.length);
  return Buffer.concat([mask, combine(mask, secret)]).toString("base64url");
}

export function isMasked(masked: string, secret: Uint8Array): boolean {
  const bytes = Buffer.from(masked, "base64url");
  const { length } = secret;
  // Decoders skip characters that do not belong to the alphabet.
  if (bytes.length !== 2 * length || bytes.toString("base64url") !== masked) return false;
  return isSameSecret(combine(bytes.subarray(0, length), bytes.subarray(length)), secret);
}

function combine(one: Uint8Array, other: Uint8Array): Buffer {
  return Buffer.from(one.map((byte, at) => byte ^ (other[at] ?? 0)));
}
