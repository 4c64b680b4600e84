import type { JsonObject } from "../contract/json.ts";
import { printKey, type KeyContext } from "../mcp/access/key-context.ts";
import type { ApprovalRequest } from "../mcp/approval/approval-request.ts";
import { nobodyToAsk } from "../mcp/approval/person-asked.ts";
import type { RequireApproval } from "../mcp/approval/require-approval.ts";
import { consoleName, type ConsoleParts } from "./console-parts.ts";
import type { Deployment } from "./deployment.ts";
import { readApiKey } from "./secrets.ts";

/**
 * What a person can have done at the console, and no assistant: by the same functions as at the
 * terminal, and by the rules of whoever is signed in.
 */
export type ConsoleAct = {
  readonly isThere: (acting: Acting) => boolean;
  /** Throws a Problem, or what an approval throws. */
  readonly run: (args: JsonObject, acting: Acting) => Promise<JsonObject>;
};

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

/** Throws until the person has said yes. */
export function requireYes(
  request: ApprovalRequest,
  { requireApproval, keyContext }: Acting,
): Promise<void> {
  const person = { ...nobodyToAsk, client: consoleName };
  return requireApproval(request, keyContext, person);
}

/** By whom it was done, for the history. */
export async function readNoting({ state, report, keyContext }: Acting) {
  const { history } = await state.open();
  return { history, report, key_print: keyContext.key_print, client: consoleName };
}

/** Those acts are there only where the store is ours. */
export function readOwn({ deployment }: Acting): NonNullable<Deployment["own"]> {
  if (deployment.own === undefined) throw new Error("this server has no database of its own");
  return deployment.own;
}
