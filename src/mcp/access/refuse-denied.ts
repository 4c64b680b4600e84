import type { Endpoint } from "../../contract/endpoint.ts";
import { unauthorized } from "../../contract/problem.ts";
import { explainEnd, ToolFailure, type Asked } from "../results/tool-failure.ts";
import type { Reading } from "./key-access.ts";

/** The operator took the act away, so that no other tool may do it either. */
export function refuseTakenAway({ tool }: Endpoint): ToolFailure {
  return refuseSetting(
    `The operator's WAYPOST_TOOLS excludes ${tool}, and this call would do what that tool does.`,
    `Tell the user that this server's WAYPOST_TOOLS excludes ${tool}. Do not try another way.`,
  );
}

export function refuseUnchosen(tool: string): ToolFailure {
  return refuseSetting(
    `The operator's WAYPOST_TOOLS excludes ${tool}.`,
    `Tell the user that this server's WAYPOST_TOOLS excludes ${tool}. Do not try another way.`,
  );
}

export function refuseWriting(tool: string): ToolFailure {
  return refuseSetting(
    `This server is read-only, and ${tool} makes or prepares changes.`,
    "Tell the user that WAYPOST_MODE is read-only here, so nothing can be changed.",
  );
}

type Denied = Reading & { readonly state: "denied" };

/** What the deployment would answer is known, or the operator forbids the call: nothing is sent. */
export function refuseDenied(asked: Asked, { reason, isDeclared }: Denied): unknown {
  if (isDeclared !== true) return explainEnd(asked, unauthorized(reason));
  const next =
    "Tell the user that this server's WAYPOST_SCOPES excludes this scope. Do not try again.";
  return refuseSetting(reason, next);
}

function refuseSetting(message: string, next: string): ToolFailure {
  return new ToolFailure({ code: "scope_missing", message, effect: "none", retry: "never", next });
}
