import type { Config } from "../../config.ts";
import type { WatchCall } from "../../contract/watch.ts";
import { printKey, type KeyContext } from "../../mcp/access/key-context.ts";
import type { PageOptions } from "../../mcp/approval/approval-page.ts";
import type { RequireApproval } from "../../mcp/approval/require-approval.ts";
import type { Toolbox } from "../../mcp/tools/toolbox.ts";
import { readApiKey } from "../data/secrets.ts";
import type { Addresses } from "../http/addresses.ts";
import type { ServedBy } from "../http/watch-proxies.ts";
import type { Assistant, Caller } from "../process/assistant.ts";
import type { Deployment } from "../process/deployment.ts";

/** What the console of a process is made of. */

export type ConsoleParts = Pick<PageOptions, "onDecided" | "onRefused"> & {
  readonly config: Config;
  readonly version: string;
  readonly deployment: Deployment;
  readonly toolbox: Toolbox;
  readonly assistant: Pick<Assistant, "createKeyContext">;
  /** Finds the caller of a secret, as for MCP. */
  readonly identify: (secret: string) => Promise<Caller | undefined>;
  readonly hostnames: readonly string[];
  readonly readServedBy: () => ServedBy;
  readonly addresses: Pick<Addresses, "url"> & { readonly mcp: string | undefined };
  /** As the person types them. */
  readonly consoleCommand: string;
  readonly program: string;
  readonly report: (error: unknown) => string;
  readonly watchCall?: WatchCall | undefined;
};

/** The console's name in the history. */
export const consoleName = "Waypost console";

export type Acting = ConsoleParts & {
  /** The address of the person's browser, if it is known. */
  readonly address: string | undefined;
  readonly keyContext: KeyContext;
  readonly requireApproval: RequireApproval;
  /** The hash of the operator's PIN, where one is set. */
  readonly readPin: () => Promise<string | undefined>;
};

/** Read-only mode applies to people in the console as well as to assistants. */
export function mayChange({ config }: Acting): boolean {
  return config.mode !== "read-only";
}

/**
 * Only the operator sees folders, hosts and proxies, and not everyone with a project here: a person
 * with this process's own key, a master key or the gateway's token.
 */
export function isOperator(acting: Acting): boolean {
  const { deployment, keyContext } = acting;
  if (deployment.own === undefined) return true;
  return keyContext.known.facts?.kind === "master" || isOwnKey(acting);
}

/** Whether it is the key that a process with the same settings would use. */
export function isOwnKey(acting: Acting): boolean {
  const token = tryApiKey(acting);
  return token !== undefined && printKey(token) === acting.keyContext.key_print;
}

export function tryApiKey({ config }: Pick<Acting, "config">): string | undefined {
  try {
    return readApiKey(config);
  } catch {
    // A key file that cannot be read has no key to compare with.
    return undefined;
  }
}
