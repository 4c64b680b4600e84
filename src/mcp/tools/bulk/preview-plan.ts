import { estimatePart } from "../../../bulk/apply/write-spacing.ts";
import type { Bulk } from "../../../bulk/bulk.ts";
import { findCountToType, listChanges, listSample } from "../../../bulk/present.ts";
import { limits } from "../../../contract/limits.ts";
import type { Job } from "../../../state/jobs.ts";
import { countPlannedWrites, type Plan, type PlanRow } from "../../../state/plans.ts";
import { quote } from "../../../text/show-hidden.ts";
import type { Fact, Preview } from "../../approval/approval-request.ts";

const shownEach = 10;
/** Whole: what an address ends with decides where it leads. */
const mostShown = limits.web_address_characters;

/** What a person approves: the numbers and some of the rows. Of a job, what is left of it. */
export async function previewPlan(plan: Plan, bulk: Bulk, job?: Job): Promise<Preview> {
  const { counts, undoes } = plan;
  const all = countPlannedWrites(counts);
  const total = job === undefined ? all : job.counts.left + job.counts.unknown;
  const count = findCountToType(plan, total);
  const shown = await listShown(plan, bulk, job);
  const changes = `create ${counts.create}, overwrite ${counts.update}, delete ${counts.delete}`;
  const links = `${total} ${total === 1 ? "link" : "links"}`;
  const more = total - shown.length;
  return {
    ...(count !== undefined && { count }),
    title:
      job === undefined
        ? `${links}: ${undoes === null ? "" : "undo a job; "}${changes}`
        : `${links} are left of ${all} (${changes}): go on with a cancelled job`,
    facts: [
      ...Object.entries(counts)
        .filter(([, number]) => number > 0)
        .map(([name, number]) => ({ name, text: String(number) })),
      { name: "takes about", text: `${estimatePart(counts, total)} s` },
      ...shown.map(describeRow),
      ...(more > 0 ? [{ name: "and", text: `${more} more` }] : []),
    ],
  };
}

async function listShown(
  plan: Plan,
  bulk: Bulk,
  job: Job | undefined,
): Promise<readonly PlanRow[]> {
  if (job !== undefined) {
    const open = await bulk.listReceipts(job, { limit: shownEach, only: "open" });
    return open.map(({ planned }) => planned);
  }
  // What cannot be taken back stands first.
  const actions = ["update", "delete", "create"] as const;
  const rows = await Promise.all(actions.map((each) => listSample(plan, bulk, each, shownEach)));
  return rows.flat();
}

/** The link by its name and path, what hangs on it, and what would be another. */
function describeRow(row: PlanRow): Fact {
  const { action, path, link_id, before } = row;
  const changes = Object.entries(listChanges(row) ?? {}).map(([field, { from, to }]) => {
    const old = before === null ? "" : `${writeValue(from)} becomes `;
    return `${field}: ${old}${writeValue(to)}`;
  });
  const name = before?.["name"];
  const told = [
    ...(typeof name === "string" && name !== "" ? [`named ${quote(name)}`] : []),
    ...(typeof before?.["clicks"] === "number" ? [`${before["clicks"]} clicks`] : []),
    ...changes,
  ];
  return { name: `${action} ${quote(path ?? link_id ?? "", mostShown)}`, text: told.join("; ") };
}

/** A text as it is, and whatever else as JSON. */
function writeValue(value: unknown): string {
  if (value === null || value === "") return "nothing";
  return quote(typeof value === "string" ? value : JSON.stringify(value), mostShown);
}
