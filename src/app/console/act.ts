import { printKey, type KeyContext } from "../../mcp/access/key-context.ts";
import type { RequireApproval } from "../../mcp/approval/require-approval.ts";
import type { ConsoleParts } from "./parts.ts";
import { readApiKey } from "../data/secrets.ts";

export type Acting = ConsoleParts & {
  /** From where the person asks, as far as it is known. */
  readonly address: string | undefined;
  readonly keyContext: KeyContext;
  readonly requireApproval: RequireApproval;
  /** The hash of the operator's PIN, where one is set. */
  readonly readPin: () => Promise<string | undefined>;
};

/** A change by hand, in the one mode that lets nothing be changed. */
export function mayChange({ config }: Acting): boolean {
  return config.mode !== "read-only";
}

/**
 * Folders, hosts and proxies are the operator's own business, and not that of everybody who has a
 * project here: whoever shows the key of this very process, a master key or the gateway's token.
 */
export function isOperator(acting: Acting): boolean {
  const { deployment, keyContext } = acting;
  if (deployment.own === undefined) return true;
  return keyContext.known.facts?.kind === "master" || isOwnKey(acting);
}

/** Whether it is the key that a process of the same settings takes by itself. */
export function isOwnKey(acting: Acting): boolean {
  const token = tryApiKey(acting);
  return token !== undefined && printKey(token) === acting.keyContext.key_print;
}

export function tryApiKey({ config }: Pick<Acting, "config">): string | undefined {
  try {
    return readApiKey(config);
  } catch {
    // A file that cannot be read holds no key of whom anything can be said.
    return undefined;
  }
}
