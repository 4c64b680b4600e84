import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import type { Clock } from "../contract/clock.ts";
import { isMasked, maskSecret } from "../text/mask-secret.ts";

/**
 * Who is signed in. A browser or a terminal has a token; the row that belongs to it is found by the
 * token's hash, and the secret in it is sealed with a key that is made of the token. Whoever reads
 * the rows can sign in with none of them.
 */
export type Sessions = {
  /** A new session of whoever showed this secret, and its token. */
  readonly begin: (secret: string) => Promise<string>;
  /** Whoever asks makes it last longer; a page that looks again by itself does not. */
  readonly find: (token: string, isFollowing?: boolean) => Promise<string | undefined>;
  readonly end: (token: string) => Promise<void>;
  /** A token that signs in once. */
  readonly makeAddress: (secret: string) => Promise<string>;
  readonly isAddress: (token: string) => Promise<boolean>;
  readonly takeAddress: (token: string) => Promise<string | undefined>;
};

type Kind = "session" | "address";
type Found = { readonly sealed: string; readonly expires_at: number };

/** Where the rows are, which all processes of a folder or database share. */
export type SessionRows = {
  readonly save: (row: Found & { readonly token_hash: string; readonly kind: Kind }) => unknown;
  readonly find: (kind: Kind, tokenHash: string) => Promise<Found | undefined>;
  readonly extend: (tokenHash: string, expires_at: number) => Promise<void>;
  readonly take: (kind: Kind, tokenHash: string) => Promise<Found | undefined>;
};

type Options = {
  readonly openRows: () => Promise<SessionRows>;
  readonly clock: Pick<Clock, "now">;
};

const minute_ms = 60_000;
const idle_ms = 12 * 60 * minute_ms;
const addressLasts_ms = 10 * minute_ms;
/** A look at a page is written down so seldom: a session is good for a little less than that. */
const extendEvery_ms = 5 * minute_ms;
const tokenBytes = 32;

export function createSessions({ openRows, clock }: Options): Sessions {
  async function make(kind: Kind, secret: string, lasts_ms: number): Promise<string> {
    const token = randomBytes(tokenBytes).toString("base64url");
    const row = { token_hash: hash(token), kind, sealed: seal(token, kind, secret) };
    await (await openRows()).save({ ...row, expires_at: clock.now() + lasts_ms });
    return token;
  }

  return {
    begin: (secret) => make("session", secret, idle_ms),
    makeAddress: (secret) => make("address", secret, addressLasts_ms),

    find: async (token, isFollowing = false) => {
      const rows = await openRows();
      const found = await rows.find("session", hash(token));
      if (found === undefined) return undefined;
      const until = clock.now() + idle_ms;
      const isLate = until - found.expires_at > extendEvery_ms;
      if (isLate && !isFollowing) await rows.extend(hash(token), until);
      return open(token, "session", found.sealed);
    },

    end: async (token) => {
      await (await openRows()).take("session", hash(token));
    },

    isAddress: async (token) =>
      (await (await openRows()).find("address", hash(token))) !== undefined,

    takeAddress: async (token) => {
      const found = await (await openRows()).take("address", hash(token));
      return found && open(token, "address", found.sealed);
    },
  };
}

/** What a form of a page that this token's browser was sent has, and no other. */
export function writeFormToken(token: string): string {
  return maskSecret(derive(token, "form"));
}

export function isFormToken(given: string, token: string): boolean {
  return isMasked(given, derive(token, "form"));
}

const ivBytes = 12;
const tagBytes = 16;

function seal(token: string, kind: Kind, secret: string): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv("aes-256-gcm", derive(token, kind), iv);
  const text = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), text]).toString("base64url");
}

/** Undefined where somebody has changed the row. */
function open(token: string, kind: Kind, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, "base64url");
  const text = bytes.subarray(ivBytes + tagBytes);
  try {
    const decipher = createDecipheriv(
      "aes-256-gcm",
      derive(token, kind),
      bytes.subarray(0, ivBytes),
    );
    decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    return decipher.update(text, undefined, "utf8") + decipher.final("utf8");
  } catch {
    return undefined;
  }
}

function derive(token: string, purpose: Kind | "form"): Buffer {
  return Buffer.from(hkdfSync("sha256", token, "", `waypost console ${purpose}`, 32));
}

function hash(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
