import { createHash } from "node:crypto";
import type { Clock, Random } from "../contract/clock.ts";
import { clientPrefix } from "../text/client-token.ts";

/** What is made up rather than given: ids, generated paths, tokens. */

/** No 0, O, 1, l, I or o: a person may have to type it. */
const letters = "23456789abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ";

/** A UUID of version 7: its beginning is the time, so ids made later sort later. */
export function createId(clock: Pick<Clock, "now">, random: Random): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(clock.now(), 0, 6);
  bytes.set(random.bytes(10), 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** What ids and times are made from, by the API or by the operator. */
export type IdSources = { readonly clock: Pick<Clock, "now">; readonly random: Random };

export type IdAndTime = { readonly id: string; readonly now: number };

/** For a row that is about to be written. */
export function createIdAndTime({ clock, random }: IdSources): IdAndTime {
  return { id: createId(clock, random), now: clock.now() };
}

/** Random letters, each equally likely: bytes beyond the last whole round are drawn again. */
export function createCode(length: number, random: Random): string {
  const fair = 256 - (256 % letters.length);
  let code = "";
  while (code.length < length) {
    for (const byte of random.bytes(length - code.length)) {
      if (byte < fair) code += letters.charAt(byte % letters.length);
    }
  }
  return code;
}

/** A new API key: 40 letters carry 232 bits. */
export function createToken(random: Random): string {
  return `waypost_${createCode(40, random)}`;
}

/** A new client key. */
export function createClientToken(random: Random): string {
  return clientPrefix + createCode(40, random);
}

/** What is stored of a token. It is random itself, so it needs no salt and no slow hash. */
export function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
