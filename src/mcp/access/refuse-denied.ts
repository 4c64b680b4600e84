import { unauthorized } from "../../contract/problem.ts";
import { explainEnd, ToolFailure, type Asked } from "../results/tool-failure.ts";
import type { Reading } from "./key-access.ts";

type Denied = Reading & { readonly state: "denied" };

/** What the deployment would answer is known, or the operator forbids the call: nothing is sent. */
export function refuseDenied(asked: Asked, { reason, isDeclared }: Denied): unknown {
  if (isDeclared !== true) return explainEnd(asked, unauthorized(reason));
  return new ToolFailure({
    code: "scope_missing",
    message: reason,
    effect: "none",
    retry: "never",
    next: "Tell the user that this server's WAYPOST_SCOPES leave it out; do not try again.",
  });
}
