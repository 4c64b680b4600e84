import { randomBytes } from "node:crypto";
import { isSameSecret } from "./same-secret.ts";

/**
 * A secret in a page, by other letters each time: pages are sent packed, and how small they become
 * tells what is in them twice.
 */
export function maskSecret(secret: Uint8Array): string {
  const mask = randomBytes(secret.length);
  return Buffer.concat([mask, combine(mask, secret)]).toString("base64url");
}

export function isMasked(given: string, secret: Uint8Array): boolean {
  const bytes = Buffer.from(given, "base64url");
  const { length } = secret;
  // What is no letter of such a text is passed over by whoever reads it.
  if (bytes.length !== 2 * length || bytes.toString("base64url") !== given) return false;
  return isSameSecret(combine(bytes.subarray(0, length), bytes.subarray(length)), secret);
}

function combine(one: Uint8Array, other: Uint8Array): Buffer {
  return Buffer.from(one.map((byte, at) => byte ^ (other[at] ?? 0)));
}
