import { createHmac, timingSafeEqual } from "node:crypto";

/**
 * A sealed approval, as it travels through the client: which one it is, for which act, until when.
 * Anyone may read it and nobody but us can make one.
 */
export type Sealed = {
  readonly id: string;
  readonly digest: string;
  readonly expires_at: number;
};

export function seal(sealed: Sealed, secret: Uint8Array): string {
  const payload = Buffer.from(JSON.stringify(sealed)).toString("base64url");
  return `${payload}.${sign(payload, secret).toString("base64url")}`;
}

/** What was sealed, or undefined where the seal is not ours. Its expiry is not looked at. */
export function unseal(text: string, secret: Uint8Array): Sealed | undefined {
  const [payload = "", mark = "", ...more] = text.split(".");
  const expected = sign(payload, secret);
  const given = Buffer.from(mark, "base64url");
  // Two spellings of one signature would be two tokens.
  const isOurs =
    more.length === 0 &&
    given.length === expected.length &&
    given.toString("base64url") === mark &&
    timingSafeEqual(given, expected);
  // Whatever carries our signature was written by `seal`.
  return isOurs ? (JSON.parse(Buffer.from(payload, "base64url").toString()) as Sealed) : undefined;
}

function sign(payload: string, secret: Uint8Array): Buffer {
  return createHmac("sha256", secret).update(payload).digest();
}
