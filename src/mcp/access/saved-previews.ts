import { createHash, randomBytes } from "node:crypto";
import type { ExpiringValues } from "../../state/expiring-values.ts";

/** Stores preview pages for a short time, so that a person can open them. */
export type Previews = {
  /** Stores a page and returns the token for its URL. Returns undefined if the page is too long. */
  readonly save: (owner: string, html: string) => Promise<string | undefined>;
  readonly find: (token: string) => Promise<string | undefined>;
};

const mostBytes = 1024 * 1024;

const tokenBytes = 16;

export function createPreviews(kept: ExpiringValues): Previews {
  return {
    save: async (owner, html) => {
      if (Buffer.byteLength(html) > mostBytes) return undefined;
      const token = randomBytes(tokenBytes).toString("base64url");
      await kept.save("preview", hash(token), html, { owner });
      return token;
    },
    find: async (token) => (await kept.find("preview", hash(token)))?.value,
  };
}

function hash(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
