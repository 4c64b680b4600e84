import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import type { Clock } from "../contract/clock.ts";
import { isMasked, maskSecret } from "../text/secrets.ts";

/**
 * Sessions and one-time sign-in URLs. A cookie or a URL contains a token. The database stores the
 * user's secret under the token's hash, encrypted with a key derived from the token. So no one can
 * sign in with a stolen database.
 */
export type Sessions = {
  readonly begin: (secret: string) => Promise<string>;
  /** Returns the secret. Extends the session, unless `isFollowing` marks an automatic refresh. */
  readonly find: (token: string, isFollowing?: boolean) => Promise<string | undefined>;
  readonly end: (token: string) => Promise<void>;
  readonly makeAddress: (secret: string) => Promise<string>;
  readonly isAddress: (token: string) => Promise<boolean>;
  readonly takeAddress: (token: string) => Promise<string | undefined>;
};

type SessionKind = "console_session" | "console_address";
/** The encrypted secret, and when it was last saved or renewed. */
type SealedRow = { readonly value: string; readonly saved_at: number };

/** Storage that all processes of a data folder or database share. Rows expire. */
export type SessionRows = {
  readonly save: (kind: SessionKind, tokenHash: string, sealed: string) => Promise<void>;
  readonly find: (kind: SessionKind, tokenHash: string) => Promise<SealedRow | undefined>;
  readonly renew: (kind: SessionKind, tokenHash: string) => Promise<void>;
  readonly take: (kind: SessionKind, tokenHash: string) => Promise<SealedRow | undefined>;
};

type SessionOptions = {
  readonly openRows: () => Promise<SessionRows>;
  readonly clock: Pick<Clock, "now">;
};

/** The minimum time between renewals. A session can therefore end this much too early. */
const renewEvery_ms = 5 * 60_000;
const tokenBytes = 32;

export function createSessions({ openRows, clock }: SessionOptions): Sessions {
  async function make(kind: SessionKind, secret: string): Promise<string> {
    const token = randomBytes(tokenBytes).toString("base64url");
    await (await openRows()).save(kind, hash(token), seal(token, kind, secret));
    return token;
  }

  return {
    begin: (secret) => make("console_session", secret),
    makeAddress: (secret) => make("console_address", secret),

    find: async (token, isFollowing = false) => {
      const rows = await openRows();
      const found = await rows.find("console_session", hash(token));
      if (found === undefined) return undefined;
      const isLate = clock.now() - found.saved_at > renewEvery_ms;
      if (isLate && !isFollowing) await rows.renew("console_session", hash(token));
      return open(token, "console_session", found.value);
    },

    end: async (token) => {
      await (await openRows()).take("console_session", hash(token));
    },

    isAddress: async (token) =>
      (await (await openRows()).find("console_address", hash(token))) !== undefined,

    takeAddress: async (token) => {
      const found = await (await openRows()).take("console_address", hash(token));
      return found && open(token, "console_address", found.value);
    },
  };
}

/** Derives the CSRF token for a browser's forms from its session token. */
export function writeFormToken(token: string): string {
  return maskSecret(derive(token, "form"));
}

export function isFormToken(given: string, token: string): boolean {
  return isMasked(given, derive(token, "form"));
}

const ivBytes = 12;
const tagBytes = 16;

function seal(token: string, kind: SessionKind, secret: string): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv("aes-256-gcm", derive(token, kind), iv);
  const text = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), text]).toString("base64url");
}

/** Returns undefined if the row was tampered with. */
function open(token: string, kind: SessionKind, sealed: string): string | undefined {
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

function derive(token: string, purpose: SessionKind | "form"): Buffer {
  return Buffer.from(hkdfSync("sha256", token, "", `waypost console ${purpose}`, 32));
}

function hash(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
