import { listUnread, noteDeviations } from "../contract/deviations.ts";
import { answersTarget } from "../contract/resource-kind.ts";
import type { CallSoFar } from "./explain-end.ts";
import type { Finding } from "./find-written.ts";
import type { Accepted } from "./send-once.ts";

/**
 * What a write has become whose 2xx tells nothing: it is done, is never in doubt, and is never sent
 * again, whatever a look at the deployment finds. A list may be late, or filter by nothing.
 */
export function describeAccepted(
  { endpoint, input }: CallSoFar,
  { body, found }: Accepted,
  finding: Finding | undefined,
): unknown {
  if (finding?.kind === "done") return finding.body;
  if (endpoint.response === null) return null;
  const id = answersTarget(endpoint) ? input["id"] : undefined;
  const known = id === undefined ? body : { ...body, id };
  const told = finding === undefined ? found : `${found}; checked: ${finding.checked}`;
  const all = [...listUnread(body), { found: told }];
  return noteDeviations(known, all);
}
