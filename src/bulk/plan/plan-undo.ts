import { setImmediate as nextTurn } from "node:timers/promises";
import { contract } from "../../contract/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { LinkFields, ReadLink } from "../../contract/links.ts";
import { checkLink } from "../../contract/rules/link-rules.ts";
import {
  isSame,
  listWritable,
  nameField,
  writeAnew,
} from "../../contract/rules/writable-fields.ts";
import type { Effect } from "../../state/history.ts";
import type { Job, Jobs } from "../../state/jobs.ts";
import type { Receipt } from "../../state/job-runs.ts";
import type { PlanRow } from "../../state/plans.ts";
import type { ServerAccess } from "../owner.ts";
import { findAtPath, findById, unread } from "../select/find-links.ts";
import type { PlannedRow } from "./plan-rows.ts";
import { planStep } from "./undo-step.ts";

/** Plans the undo of a job, row by row. */

const { links } = contract;

export type UndoContext = ServerAccess & {
  readonly jobs: Jobs;
  /** Whether the server can restore deleted links unchanged. */
  readonly keepsBin: boolean;
};

/** Rows are planned in parallel, because each needs its own requests. */
const mostAtOnce = 8;

/** Starts with the last row, because later rows may occupy the paths of earlier ones. */
export async function* planUndo(undoing: UndoContext, job: Job): AsyncGenerator<PlannedRow> {
  /** The links of later rows, which are undone first. */
  const later = new Set<string>();
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const page = await undoing.jobs.listReceipts(job, { before, limit: mostAtOnce });
    for (const { link_id } of page) later.add(link_id ?? "");
    const written = page.filter(({ status }) => status !== null && status !== "rejected");
    yield* await Promise.all(written.map((receipt) => undoRow(undoing, receipt, later)));
    const last = page.at(-1);
    if (last === undefined) return;
    before = last.position;
    // Lets other work run, because the embedded service answers synchronously.
    await nextTurn();
  }
}

async function undoRow(
  undoing: UndoContext,
  receipt: Receipt,
  later: ReadonlySet<string>,
): Promise<PlannedRow> {
  const { row, path, status } = receipt;
  const read = await readNow(undoing, receipt);
  const now = read === unread ? null : (read ?? null);
  const id = receipt.link_id ?? now?.id ?? null;
  const base = { row, link_id: id, path, before: now, fields: null, message: null, problems: [] };
  const refuse = (message: string): PlannedRow => ({ ...base, action: "conflict", message });
  if (status !== "done") {
    return refuse("It is uncertain whether this row was applied; resume the job to find out");
  }
  if (read === unread) return refuse("It is unknown which link this row created");
  const plan = planStep(describeEffect(receipt, id), now, undoing.keepsBin);
  if ("why" in plan) return refuse(plan.why);
  const [step] = plan.steps;
  if (step === undefined) return refuse(`The link ${now ? "still" : "no longer"} exists`);
  const { endpoint, input, lost } = step;
  const edited = Object.keys(lost);
  if (edited.length > 0) return refuse(`${edited.join(", ")} changed after the job`);
  if (endpoint === links.destroy) return { ...base, action: "delete" };
  if (endpoint === links.update) {
    const { id: _id, ...fields } = input;
    return { ...base, path: now?.path ?? null, action: "update", fields };
  }
  const taken = path === null ? undefined : await findAtPath(undoing, path);
  if (taken === unread) return refuse("A link that could not be read may have this path");
  if (taken !== undefined && !later.has(taken.id)) return refuse("Another link now has this path");
  const fields = writeAnew(links.create, receipt.before ?? {});
  if (endpoint === links.restore) {
    const message = "The link is restored with its ID, clicks and short path";
    return { ...base, action: "create", fields, message };
  }
  const isShortened = typeof receipt.before?.["shortened_path"] === "string";
  const losses = isShortened ? "short path and clicks" : "clicks";
  const message = `The link is created again with a new ID, without its ${losses}`;
  return { ...base, link_id: null, action: "create", fields, message };
}

/**
 * Reads the current link. If the creation response had no id, only the path identifies the link.
 */
function readNow(
  asking: ServerAccess,
  { action, path, link_id }: Receipt,
): Promise<ReadLink | typeof unread | undefined> {
  if (link_id !== null) return findById(asking, link_id);
  return action === "create" ? findAtPath(asking, path ?? "") : Promise.resolve(undefined);
}

/** Describes the row as a change of one link, with the values before and after. */
function describeEffect(receipt: Receipt, id: string | null): Effect {
  const { action, before, fields, made } = receipt;
  const isDeletion = action === "delete";
  const after = isDeletion ? null : { ...expectLink(receipt), ...made };
  const written = listWritable(links.update, links.show.response.shape).filter(
    (name) => isDeletion || nameField(links.update, name) in (fields ?? {}),
  );
  const unknown = before === null ? [] : written.filter((name) => before[name] === undefined);
  return { kind: "link", id, before, after, unknown };
}

/** Predicts the link after a row was applied, because the response may be missing or incomplete. */
function expectLink({ before, ...row }: Pick<PlanRow, "before" | "fields">): JsonObject {
  const fields = (row.fields ?? {}) as LinkFields;
  const { ios_app, android_app } = fields;
  return {
    ...before,
    ...checkLink(fields, "update").values,
    ...(ios_app !== undefined && { ios_app_id: ios_app?.id ?? null }),
    ...(android_app !== undefined && { android_app_id: android_app?.id ?? null }),
  };
}

/** Selects the response's fields that differ from the prediction. An undo needs only those. */
export function pickUnexpected(planned: PlanRow, link: JsonObject): JsonObject {
  const expected = expectLink(planned);
  const names = listWritable(links.update, link).filter(
    (name) => !(name in expected) || !isSame(expected[name], link[name]),
  );
  return Object.fromEntries(names.map((name) => [name, link[name]]));
}
