import type { Clock, Random } from "../contract/clock.ts";
import { clientPrefix } from "../text/secrets.ts";

/** Generates ids, codes for short paths, and the tokens of API keys and client keys. */

/** Omits 0, O, 1, l, I and o, because people may have to type the code. */
const letters = "23456789abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ";

/** Creates a UUIDv7. It starts with the time, so later ids sort later. */
export function createId(clock: Pick<Clock, "now">, random: Random): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(clock.now(), 0, 6);
  bytes.set(random.bytes(10), 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export type IdSources = { readonly clock: Pick<Clock, "now">; readonly random: Random };

export type IdAndTime = { readonly id: string; readonly now: number };

export function createIdAndTime({ clock, random }: IdSources): IdAndTime {
  return { id: createId(clock, random), now: clock.now() };
}

/** Creates a random code. Bytes that would make some letters more likely are skipped. */
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

/** Creates an API key with 232 random bits. */
export function createToken(random: Random): string {
  return `waypost_${createCode(40, random)}`;
}

export function createClientToken(random: Random): string {
  return clientPrefix + createCode(40, random);
}
