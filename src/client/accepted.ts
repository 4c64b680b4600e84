import { listDeviations, noteDeviations } from "../contract/deviations.ts";
import { findKind } from "../contract/resource-kind.ts";
import type { CallSoFar } from "./explain-end.ts";
import type { Finding } from "./find-written.ts";
import { readRetryPolicy } from "./retry-policy.ts";
import type { Accepted } from "./send-once.ts";

/** What follows from a 2xx to a write whose answer tells nothing. */

type AfterAccepted =
  { readonly kind: "done"; readonly body: unknown } | { readonly kind: "repeat" };

/**
 * It is done, as far as anybody knows, and never in doubt; what it has become was looked for. Only
 * where that look proves that something else has answered, a proxy or a login page, and where to
 * repeat it does no harm, is it sent again.
 */
export function chooseAfterAccepted(
  call: CallSoFar,
  { body, found }: Accepted,
  finding: Finding | undefined,
  mayRepeat: boolean,
): AfterAccepted {
  const { endpoint, input } = call;
  if (finding?.kind === "done") return finding;
  const isProof = finding?.kind === "undone" && readRetryPolicy(endpoint, input) !== "never";
  if (isProof && mayRepeat) return { kind: "repeat" };
  if (endpoint.response === null) return { kind: "done", body: null };
  // The id of a template's version is not that of the template.
  const isOfOne = endpoint.response === findKind(endpoint).show.response;
  const id = isOfOne ? input["id"] : undefined;
  const known = id === undefined ? body : { ...body, id };
  const told = finding === undefined ? found : `${found}; checked: ${finding.checked}`;
  const all = [...listDeviations(body), { kind: "unread" as const, found: told }];
  return { kind: "done", body: noteDeviations(known, all) };
}
