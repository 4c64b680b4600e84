import { createHmac } from "node:crypto";
import type { State } from "../../state/state.ts";
import { isSameSecret } from "../../text/same-secret.ts";
import type { ApprovalRequest } from "./approval-request.ts";

/**
 * What a token says that travels through the client: which approval it is, for which request,
 * until when. Any client may read it, and only this server can sign one.
 */
export type ApprovalToken = {
  readonly id: string;
  readonly digest: string;
  readonly expires_at: number;
};

type OpenState = () => Promise<State>;

const secretName = "approvals";

/** The token of a new approval, as a text. */
export async function issueToken(
  { preview }: ApprovalRequest,
  digest: string,
  openState: OpenState,
): Promise<string> {
  const { approvals } = await openState();
  // It was told already: no page shows it.
  const wanted = { digest, preview: JSON.stringify({ title: preview.title }) };
  const { id, expires_at } = await approvals.openForToken(wanted);
  return sealToken({ id, digest, expires_at }, openState);
}

/** As a text, which for a page's approval only says which page a client was told to open. */
export async function sealToken(token: ApprovalToken, openState: OpenState): Promise<string> {
  const { readSecret } = await openState();
  return signToken(token, await readSecret(secretName));
}

/** Undefined for a text that this server has not signed. Whether it has expired is not checked. */
export async function readToken(
  text: string | undefined,
  openState: OpenState,
): Promise<ApprovalToken | undefined> {
  if (text === undefined) return undefined;
  const { readSecret } = await openState();
  return verifyToken(text, await readSecret(secretName));
}

/** True for one call only, and in time, however many come with the token at once. */
export async function useToken(token: ApprovalToken, openState: OpenState): Promise<boolean> {
  const { approvals } = await openState();
  return approvals.takeForToken(token.id, token.digest);
}

export function signToken(token: ApprovalToken, secret: Uint8Array): string {
  const payload = Buffer.from(JSON.stringify(token)).toString("base64url");
  return `${payload}.${sign(payload, secret)}`;
}

export function verifyToken(text: string, secret: Uint8Array): ApprovalToken | undefined {
  const [payload = "", signature = "", ...more] = text.split(".");
  // The texts are compared, not their bytes: two spellings of one signature would be two tokens.
  if (more.length > 0 || !isSameSecret(signature, sign(payload, secret))) return undefined;
  // Every text with this server's signature was written by `signToken`.
  return JSON.parse(Buffer.from(payload, "base64url").toString()) as ApprovalToken;
}

function sign(payload: string, secret: Uint8Array): string {
  return createHmac("sha256", secret).update(payload).digest("base64url");
}
