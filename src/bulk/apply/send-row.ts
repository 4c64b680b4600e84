import { CallFailure } from "../../client/call-failure.ts";
import { readCause } from "../../contract/access.ts";
import type { Condition } from "../../contract/condition.ts";
import type { Answer } from "../../contract/endpoint.ts";
import { links, type LinkFields } from "../../contract/links.ts";
import { Problem } from "../../contract/problem.ts";
import type { RowEnd } from "../../state/job-runs.ts";
import type { PlanRow } from "../../state/plans.ts";
import type { Asking } from "../owner.ts";

/** One request of a job, and what it comes to for its row. */

type WrittenLink = Answer<typeof links.update>;

/** Throws what is not about this row alone. */
export async function sendRow(asking: Asking, row: PlanRow, condition: Condition): Promise<RowEnd> {
  try {
    return describeDone(row, await write(asking, row, condition));
  } catch (error) {
    if (error instanceof Problem && error.status === 412) {
      return { status: "rejected", message: "plan_changed: the link changed just now" };
    }
    if (error instanceof Problem && concernsRowAlone(error)) {
      return { status: "rejected", message: error.message };
    }
    if (error instanceof CallFailure && error.facts.effect === "unknown") {
      return { status: "unknown", message: error.message };
    }
    // The key or the deployment refuses every row that is to come, and this one was not done.
    throw error;
  }
}

const rowStatuses: ReadonlySet<number> = new Set([400, 404, 409, 413, 414, 422]);

/** Whether the next row may succeed although this one was refused. */
function concernsRowAlone({ status, message }: Problem): boolean {
  if (status !== 401) return rowStatuses.has(status);
  return ["plan_required", "role_required"].includes(readCause(message));
}

/** With the link as it was answered: what differs from it later, somebody else has changed. */
export function describeDone({ action, link_id }: PlanRow, link: WrittenLink | null): RowEnd {
  if (link?.id !== undefined) return { status: "done", link_id: link.id, made: link };
  if (action !== "create" || link === null) {
    return { status: "done", link_id: link_id ?? undefined };
  }
  return {
    status: "done",
    message: "Done, but the response could not be read, so the ID is unknown",
  };
}

function write(
  { call, signal }: Asking,
  row: PlanRow,
  condition: Condition,
): Promise<WrittenLink | null> {
  const fields = (row.fields ?? {}) as LinkFields;
  const id = row.link_id ?? "";
  const options = { condition, isPatient: true };
  switch (row.action) {
    case "create":
      // A link that was there has its id already, and returns from the bin.
      if (row.link_id !== null) return call(links.restore, { id }, signal, { isPatient: true });
      return call(links.upsert, { ...fields, path: row.path ?? "" }, signal, options);
    case "delete":
      return call(links.destroy, { id }, signal, options);
    default:
      return call(links.update, { ...fields, id }, signal, options);
  }
}
