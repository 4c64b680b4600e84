import type { Endpoint } from "../../contract/endpoint.ts";
import { messages } from "../../contract/messages.ts";
import { readOutage } from "../../state/state.ts";
import { advise } from "./advice-by-code.ts";
import { refuseForNow, type Failure } from "./tool-failure.ts";

/** What a call may have done by now, so that whatever fails after it leaves that unknown. */
export type Acted = { hasBegun: boolean; endpoint: Endpoint | undefined };

type Ended = {
  readonly name: string;
  readonly annotations: { readonly idempotentHint: boolean };
};

/**
 * What is said of a call that met a store which gives no answer; undefined for any other error.
 * What a tool has only read or noted for itself has changed nothing.
 */
export function explainOutage(
  error: unknown,
  { name, annotations }: Ended,
  { hasBegun, endpoint }: Acted,
): Failure | undefined {
  const outage = readOutage(error);
  if (outage === undefined) return undefined;
  if (!hasBegun) return refuseForNow(name, outage).failure;
  const code = "outcome_unknown";
  const retry = annotations.idempotentHint ? "later" : "never";
  const next = advise(code, { tool: name, ...(endpoint && { endpoint }), retry });
  return { code, message: messages.store_went_away, effect: "unknown", retry, next };
}
