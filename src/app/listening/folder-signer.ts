import { createHmac } from "node:crypto";
import { createToken } from "../../service/ids.ts";
import { isSameSecret } from "../../text/same-secret.ts";
import { checkToken, findListenerKeyFile, keepToken } from "../data/data-folder.ts";
import { random } from "../process/embedded.ts";
import { readIfThere } from "../data/secrets.ts";

/**
 * Processes of one data folder recognize each other by signatures made with the folder's secret.
 * The secret is never sent, and a signature is valid for one purpose at one port.
 */
export type Signer = {
  readonly sign: (purpose: Purpose, ...signed: readonly (string | number)[]) => string;
  readonly isSigned: (
    signature: unknown,
    purpose: Purpose,
    ...signed: readonly (string | number)[]
  ) => boolean;
};

/** To ask who listens, to answer that, and to ask a stdio process to leave the port. */
type Purpose = "ask" | "answer" | "leave";

/** Creates the folder's secret if no process of the folder has listened before. */
export function openSigner(folder: string): Signer {
  return (
    findSigner(folder) ?? createSigner(keepToken(findListenerKeyFile(folder), createToken(random)))
  );
}

/** Undefined if no process of the folder has ever listened. */
export function findSigner(folder: string): Signer | undefined {
  const path = findListenerKeyFile(folder);
  const secret = readIfThere(path);
  // With a guessable secret, any program on this machine could pass for Waypost.
  return secret === undefined ? undefined : createSigner(checkToken(path, secret));
}

function createSigner(secret: string): Signer {
  const sign: Signer["sign"] = (...signed) =>
    createHmac("sha256", secret).update(JSON.stringify(signed)).digest("base64url");
  return {
    sign,
    isSigned: (signature, ...signed) =>
      typeof signature === "string" && isSameSecret(signature, sign(...signed)),
  };
}
