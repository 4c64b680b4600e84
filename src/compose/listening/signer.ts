import { createHmac } from "node:crypto";
import { isSameSecret } from "../../text/same-secret.ts";

/**
 * How processes of one data folder know each other: by what only its secret could have signed. The
 * secret itself is never sent, and a signature is good for one purpose at one port.
 */
export type Signer = {
  readonly sign: (purpose: Purpose, ...said: readonly Said[]) => string;
  readonly isSigned: (signature: unknown, purpose: Purpose, ...said: readonly Said[]) => boolean;
};

/** To ask who listens, to answer that, and to ask whoever does to leave the port. */
type Purpose = "ask" | "answer" | "leave";
type Said = string | number;

export function createSigner(secret: string): Signer {
  const sign: Signer["sign"] = (...said) =>
    createHmac("sha256", secret).update(JSON.stringify(said)).digest("base64url");
  return {
    sign,
    isSigned: (signature, ...said) =>
      typeof signature === "string" && isSameSecret(signature, sign(...said)),
  };
}
