import type { Endpoint } from "../../contract/endpoint.ts";
import { unauthorized } from "../../contract/problem.ts";
import { explainEnd, ToolFailure, type FailedCall } from "../results/tool-failure.ts";
import type { AccessState } from "./key-access.ts";
import type { KeyContext } from "./key-context.ts";

type Rights = Pick<KeyContext, "access" | "isActAllowed">;

/** Throws where the operator lets no tool do what this endpoint does. */
export function requireAct(endpoint: Endpoint, { isActAllowed }: Rights): void {
  if (isActAllowed(endpoint)) return;
  throw refuseUnchosen(endpoint.tool, ", and this call would do what that tool does");
}

export function refuseUnchosen(tool: string, more = ""): ToolFailure {
  return refuseSetting(
    `The operator's WAYPOST_TOOLS excludes ${tool}${more}.`,
    `Tell the user that this server's WAYPOST_TOOLS excludes ${tool}. Do not try another way.`,
  );
}

export function refuseWriting(tool: string): ToolFailure {
  return refuseSetting(
    `This server is read-only, and ${tool} makes or prepares changes.`,
    "Tell the user that WAYPOST_MODE is read-only here, so nothing can be changed.",
  );
}

/** Throws where the key is known to lack the right: nothing is sent. */
export function requireRight(
  asked: Required<FailedCall>,
  { access }: Pick<Rights, "access">,
): void {
  const reading = access.read(asked.endpoint);
  if (reading.state === "denied") throw refuseDenied(asked, reading);
}

type Denied = AccessState & { readonly state: "denied" };

/** What the deployment would answer is known, or the operator forbids the call: nothing is sent. */
export function refuseDenied(asked: FailedCall, { reason, isDeclared }: Denied): unknown {
  if (isDeclared !== true) return explainEnd(asked, unauthorized(reason));
  const next =
    "Tell the user that this server's WAYPOST_SCOPES excludes this scope. Do not try again.";
  return refuseSetting(reason, next);
}

function refuseSetting(message: string, next: string): ToolFailure {
  return new ToolFailure({ code: "scope_missing", message, effect: "none", retry: "never", next });
}
