import { OtherProject, PlanExpired } from "../../bulk/bulk-errors.ts";
import { ListChanging } from "../../bulk/select/read-whole-list.ts";
import { CallFailure, type FailureCode } from "../../client/call-failure.ts";
import { readCause } from "../../contract/access.ts";
import { Problem } from "../../contract/problem.ts";
import { showHidden } from "../../text/show-hidden.ts";

/** What keeps bulk work from going on, and what to do about it; undefined for a fault of ours. */
export function explainFailure(error: unknown): string | undefined {
  const advice = advise(error);
  if (advice === undefined || !(error instanceof Error)) return undefined;
  const cause = showHidden(error.message).replace(/\s+/g, " ").replace(/\.$/, "");
  return advice === "" ? cause : `${cause}; ${advice}`;
}

function advise(error: unknown): string | undefined {
  if (error instanceof CallFailure) return failures[error.code];
  if (error instanceof Problem) return adviseRefused(error);
  if (error instanceof OtherProject) return "use the key that started the job";
  if (error instanceof PlanExpired) return "run the import or the undo again";
  return error instanceof ListChanging
    ? "try again when no one else is adding or deleting links"
    : undefined;
}

function adviseRefused({ status, message }: Problem): string {
  if (readCause(message) === "key_invalid") return otherKey;
  if ([401, 403].includes(status)) return `${otherKey}; waypost tools shows what this key may do`;
  // What was given is wrong, and the words of the refusal say what would do.
  return [400, 422].includes(status) ? "" : "run waypost doctor to find the cause";
}

const otherKey = "set another key (WAYPOST_API_KEY)";
const lookAtAddress = "check --base-url (WAYPOST_BASE_URL), or run waypost doctor";

const failures: Readonly<Record<FailureCode, string>> = {
  rate_limited: "other programs are using the same key; try again in a minute",
  unreachable: lookAtAddress,
  timed_out: "try again later",
  overloaded: "try again later",
  outcome_unknown: "try again; Waypost first checks what was done, so nothing happens twice",
  bad_response: lookAtAddress,
  cancelled: "try again",
};
