import type { Endpoint } from "../../contract/endpoint.ts";
import { unauthorized } from "../../contract/problem.ts";
import { explainEnd, ToolFailure, type FailedCall } from "../results/tool-failure.ts";
import type { AccessState } from "./key-access.ts";
import type { KeyContext } from "./key-context.ts";

type AccessRights = Pick<KeyContext, "access" | "isActAllowed">;

/** Throws if the operator allows no tool to do what this endpoint does. */
export function requireAct(endpoint: Endpoint, { isActAllowed }: AccessRights): void {
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

/** Throws if the key is known to lack the right. Nothing is sent. */
export function requireRight(
  asked: Required<FailedCall>,
  { access }: Pick<AccessRights, "access">,
): void {
  const reading = access.read(asked.endpoint);
  if (reading.state === "denied") throw refuseDenied(asked, reading);
}

type DeniedState = AccessState & { readonly state: "denied" };

/**
 * The error of a denied call, which is not sent: the server's expected response, or the operator's
 * setting.
 */
export function refuseDenied(asked: FailedCall, { reason, isDeclared }: DeniedState): unknown {
  if (isDeclared !== true) return explainEnd(asked, unauthorized(reason));
  const next =
    "Tell the user that this server's WAYPOST_SCOPES excludes this scope. Do not try again.";
  return refuseSetting(reason, next);
}

function refuseSetting(message: string, next: string): ToolFailure {
  return new ToolFailure({ code: "scope_missing", message, effect: "none", retry: "never", next });
}
