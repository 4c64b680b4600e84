import { createHmac, timingSafeEqual } from "node:crypto";
import type { State } from "../../state/state.ts";
import type { ApprovalRequest } from "./approval-request.ts";

/**
 * An approval as it travels through the client: which one it is, for which request, until when.
 * Anyone may read it and nobody but us can make one.
 */
export type Sealed = {
  readonly id: string;
  readonly digest: string;
  readonly expires_at: number;
};

export type Seals = {
  readonly issue: (
    request: ApprovalRequest,
    digest: string,
  ) => Promise<{ text: string; expires_at: number }>;
  /** What was sealed, or undefined where the seal is not ours. Its expiry is not looked at. */
  readonly open: (text: string) => Promise<Sealed | undefined>;
  /** True for one taker only, in time, however many come at once. */
  readonly take: (sealed: Sealed) => Promise<boolean>;
};

const secretName = "approvals";

export function createSeals(openState: () => Promise<State>): Seals {
  return {
    issue: async ({ preview }, digest) => {
      const { approvals, readSecret } = await openState();
      const wanted = { digest, preview: JSON.stringify(preview) };
      const { id, expires_at } = await approvals.openForToken(wanted);
      return { text: seal({ id, digest, expires_at }, await readSecret(secretName)), expires_at };
    },
    open: async (text) => {
      const { readSecret } = await openState();
      return unseal(text, await readSecret(secretName));
    },
    take: async ({ id, digest }) => {
      const { approvals } = await openState();
      return approvals.takeForToken(id, digest);
    },
  };
}

export function seal(sealed: Sealed, secret: Uint8Array): string {
  const payload = Buffer.from(JSON.stringify(sealed)).toString("base64url");
  return `${payload}.${sign(payload, secret).toString("base64url")}`;
}

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
