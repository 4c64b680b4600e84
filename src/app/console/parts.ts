import type { Config } from "../../config.ts";
import type { WatchCall } from "../../contract/watch.ts";
import { printKey, type KeyContext } from "../../mcp/access/key-context.ts";
import type { PageOptions } from "../../mcp/approval/approval-page.ts";
import type { RequireApproval } from "../../mcp/approval/require-approval.ts";
import type { Toolbox } from "../../mcp/tools/toolbox.ts";
import { readApiKey } from "../data/secrets.ts";
import type { Addresses } from "../http/addresses.ts";
import type { ListenerDescription } from "../http/watch-proxies.ts";
import type { Assistant, Caller } from "../process/assistant.ts";
import type { Deployment } from "../process/deployment.ts";

/** The parts of a process that its console uses. */

export type ConsoleParts = Pick<PageOptions, "onDecided" | "onRefused"> & {
  readonly config: Config;
  readonly version: string;
  readonly deployment: Deployment;
  readonly toolbox: Toolbox;
  readonly assistant: Pick<Assistant, "createKeyContext">;
  /** Authenticates a secret in the same way as MCP. Returns undefined for an unknown secret. */
  readonly identify: (secret: string) => Promise<Caller | undefined>;
  readonly hostnames: readonly string[];
  readonly describeListener: () => ListenerDescription;
  readonly addresses: Pick<Addresses, "url"> & { readonly mcp: string | undefined };
  /** The command that opens the console, as the user types it. */
  readonly consoleCommand: string;
  readonly program: string;
  readonly report: (error: unknown) => string;
  readonly watchCall?: WatchCall | undefined;
};

export const consoleName = "Waypost console";

export type AccountContext = ConsoleParts & {
  /** The IP address of the user's browser, if known. */
  readonly address: string | undefined;
  readonly keyContext: KeyContext;
  readonly requireApproval: RequireApproval;
  /** Reads the hash of the operator's PIN; undefined if no PIN is set. */
  readonly readPin: () => Promise<string | undefined>;
};

/** Read-only mode applies to the console's users, too. */
export function mayChange({ config }: AccountContext): boolean {
  return config.mode !== "read-only";
}

/**
 * Whether the user is an operator, who may see folders, hosts and proxies. Operators sign in with
 * this process's own key, a master key or the gateway's token.
 */
export function isOperator(context: AccountContext): boolean {
  const { deployment, keyContext } = context;
  if (deployment.own === undefined) return true;
  return keyContext.known.facts?.kind === "master" || isOwnKey(context);
}

/** Whether the user signed in with the key that commands on this machine use. */
export function isOwnKey(context: AccountContext): boolean {
  const token = tryApiKey(context);
  return token !== undefined && printKey(token) === context.keyContext.key_print;
}

export function tryApiKey({ config }: Pick<AccountContext, "config">): string | undefined {
  try {
    return readApiKey(config);
  } catch {
    // If the key file is unreadable, no key matches.
    return undefined;
  }
}
