import { setImmediate as nextTurn } from "node:timers/promises";
import type { JsonObject } from "../../contract/json.ts";
import { links, type LinkFields, type ReadLink } from "../../contract/links.ts";
import { checkLink } from "../../contract/rules/link-rules.ts";
import { listWritable, nameField, writeAnew } from "../../contract/rules/writable-fields.ts";
import type { Effect } from "../../state/history.ts";
import type { Job, Jobs } from "../../state/jobs.ts";
import type { Receipt } from "../../state/job-runs.ts";
import type { Asking } from "../owner.ts";
import { findAtPath, findById, unread } from "../select/find-links.ts";
import type { UnnumberedRow } from "./plan-rows.ts";
import { planStep, type Step } from "./undo-step.ts";

/** The plan that puts back what a job replaced, as far as that can be. */

export type Undoing = Asking & {
  readonly jobs: Jobs;
  /** Whether deleted links return as they were. */
  readonly keepsBin: boolean;
};

/** Rows that are read at the same time: each row takes requests of its own. */
const mostAtOnce = 8;

/** The last row first: a path that was moved twice is free again in that order alone. */
export async function* planUndo(undoing: Undoing, job: Job): AsyncGenerator<UnnumberedRow> {
  /** Links of later rows, which are put back before this one. */
  const later = new Set<string>();
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const page = await undoing.jobs.listReceipts(job, { before, limit: mostAtOnce });
    for (const { link_id } of page) later.add(link_id ?? "");
    const written = page.filter(({ status }) => status !== null && status !== "rejected");
    yield* await Promise.all(written.map((receipt) => undoRow(undoing, receipt, later)));
    const last = page.at(-1);
    if (last === undefined) return;
    before = last.planned.position;
    // A service in this process answers without a pause: other work of the process runs here.
    await nextTurn();
  }
}

async function undoRow(
  asking: Undoing,
  receipt: Receipt,
  later: ReadonlySet<string>,
): Promise<UnnumberedRow> {
  const { planned, link_id, status } = receipt;
  const { row, action, path } = planned;
  const now = await readNow(asking, receipt);
  const known = now === unread ? undefined : now;
  const id = link_id ?? known?.id ?? null;
  const base = { row, link_id: id, path, before: known ?? null, fields: null, message: null };
  const refuse = (message: string): UnnumberedRow => ({ ...base, action: "conflict", message });
  if (status !== "done") {
    return refuse("It is uncertain whether this row was applied; resume the job to find out");
  }
  if (now === unread) return refuse("It is unknown which link this row created");
  const plan = planStep(describeEffect(receipt, id), known ?? null, asking.keepsBin);
  if ("why" in plan) return refuse(plan.why);
  const [step] = plan.steps;
  if (step === undefined) return refuse(`The link ${known ? "still" : "no longer"} exists`);
  const edits = Object.keys(step.lost);
  if (edits.length > 0) return refuse(`${edits.join(", ")} changed after the job`);
  if (action === "create") return { ...base, action: "delete" };
  if (action === "delete") return undoDeletion(asking, { ...planned, link_id }, step, later);
  const { id: _id, ...fields } = step.input;
  return { ...base, path: known?.path ?? null, action: "update", fields };
}

/** The link as it is. What was made and answered without an id is known by its path alone. */
function readNow(
  asking: Asking,
  { planned, link_id }: Receipt,
): Promise<ReadLink | typeof unread | undefined> {
  if (link_id !== null) return findById(asking, link_id);
  return planned.action === "create"
    ? findAtPath(asking, planned.path ?? "")
    : Promise.resolve(undefined);
}

/** A row is a change of one link, from what was planned for to what was answered. */
function describeEffect({ planned, made }: Receipt, id: string | null): Effect {
  const { action, before } = planned;
  const fields = (planned.fields ?? {}) as LinkFields;
  const after = action === "delete" ? null : { ...before, ...readSent(fields), ...made };
  const effect = { kind: "link", id, before, after };
  if (before === null) return effect;
  const written = listWritable(links.update, links.show.response.shape).filter(
    (name) => action === "delete" || nameField(links.update, name) in fields,
  );
  return { ...effect, unknown: written.filter((name) => before[name] === undefined) };
}

/** What was sent, as a link shows it: an answer may be lost, or lack a field. */
function readSent(fields: LinkFields): JsonObject {
  const { ios_app, android_app } = fields;
  return {
    ...checkLink(fields, "update").values,
    ...(ios_app !== undefined && { ios_app_id: ios_app?.id ?? null }),
    ...(android_app !== undefined && { android_app_id: android_app?.id ?? null }),
  };
}

async function undoDeletion(
  asking: Undoing,
  { row, path, link_id, before }: Receipt["planned"],
  { endpoint }: Step,
  later: ReadonlySet<string>,
): Promise<UnnumberedRow> {
  const base = { row, link_id, path, before: null, fields: writeAnew(links.create, before ?? {}) };
  const refuse = (message: string): UnnumberedRow => {
    return { ...base, fields: null, action: "conflict", message };
  };
  const other = path === null ? undefined : await findAtPath(asking, path);
  if (other === unread) return refuse("A link that could not be read may have this path");
  if (other !== undefined && !later.has(other.id)) return refuse("Another link now has this path");
  if (endpoint === links.restore) {
    const message = "The link is restored with its ID, clicks and short path";
    return { ...base, action: "create", message };
  }
  const lost = typeof before?.["shortened_path"] === "string" ? "short path and clicks" : "clicks";
  const message = `The link is created again with a new ID, without its ${lost}`;
  return { ...base, link_id: null, action: "create", message };
}
