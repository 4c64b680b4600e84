import { unauthorized } from "../../contract/problem.ts";
import { explainEnd, ToolFailure, type Asked } from "../results/tool-failure.ts";
import type { Reading } from "./key-access.ts";

type Denied = Reading & { readonly state: "denied" };

/** Nobody was asked: it is known what the deployment would say. */
export function refuseDenied(asked: Asked, { reason, isDeclared }: Denied): unknown {
  if (isDeclared === true) return refuseUndeclared(reason);
  return explainEnd(asked, unauthorized(reason));
}

/** Nobody was asked: the operator's `WAYPOST_SCOPES` are the refusal. */
function refuseUndeclared(message: string): ToolFailure {
  return new ToolFailure({
    code: "scope_missing",
    message,
    effect: "none",
    retry: "never",
    next: "Tell the user that this server's WAYPOST_SCOPES leave it out; do not try again.",
  });
}
