import { timingSafeEqual } from "node:crypto";

/** Compares two secrets. The time reveals only their length, not how much of a guess was right. */
export function isSameSecret(given: string | Uint8Array, expected: string | Uint8Array): boolean {
  const [one, other] = [toBytes(given), toBytes(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function toBytes(secret: string | Uint8Array): Uint8Array {
  return typeof secret === "string" ? Buffer.from(secret) : secret;
}
