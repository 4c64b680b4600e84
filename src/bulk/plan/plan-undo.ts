import { setImmediate as nextTurn } from "node:timers/promises";
import { links, type LinkFields, type ReadLink } from "../../contract/links.ts";
import { toSentence } from "../../contract/problem.ts";
import { checkLink } from "../../contract/rules/link-rules.ts";
import {
  listWritable,
  nameField,
  writeAnew,
  writeBack,
} from "../../contract/rules/writable-fields.ts";
import type { Job, Jobs } from "../../state/jobs.ts";
import type { Receipt } from "../../state/job-runs.ts";
import type { Asking } from "../owner.ts";
import { findAtPath, findById, unread } from "../select/find-links.ts";
import { compareLink, listEdits } from "./compare-link.ts";
import { createAppReader, type KnownApps } from "./known-apps.ts";
import type { UnnumberedRow } from "./plan-rows.ts";

/** The plan that puts back what a job replaced, as far as that can be. */

export type Undoing = Asking & {
  readonly jobs: Jobs;
  /** Whether deleted links return as they were. */
  readonly keepsBin: boolean;
};

/** Rows that are read at the same time: each row takes requests of its own. */
const mostAtOnce = 8;
/** What is written of a link as it is read; the rest of a record is the service's own. */
const writable = listWritable(links.update, links.show.response.shape);

/** The last row first: a path that was moved twice is free again in that order alone. */
export async function* planUndo(undoing: Undoing, job: Job): AsyncGenerator<UnnumberedRow> {
  const readApps = createAppReader(undoing);
  /** Links of later rows, which are put back before this one. */
  const later = new Set<string>();
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const page = await undoing.jobs.listReceipts(job, { before, limit: mostAtOnce });
    for (const { link_id } of page) later.add(link_id ?? "");
    const rows = await Promise.all(
      page
        .filter(({ status }) => status === "done" || isDoubtful(status))
        .map(async (receipt) => {
          const apps = await readApps(receipt.planned.fields ?? {});
          return undoRow(undoing, receipt, { apps, later });
        }),
    );
    yield* rows;
    const last = page.at(-1);
    if (last === undefined) return;
    before = last.planned.position;
    // A service in this process answers without a pause: other work of the process runs here.
    await nextTurn();
  }
}

function isDoubtful(status: Receipt["status"]): boolean {
  return status === "sent" || status === "unknown";
}

type Context = { readonly apps: KnownApps; readonly later: ReadonlySet<string> };

async function undoRow(
  asking: Undoing,
  receipt: Receipt,
  context: Context,
): Promise<UnnumberedRow> {
  const { planned, link_id, status } = receipt;
  const { row, action, path } = planned;
  const now = await readNow(asking, receipt);
  const known = now === unread ? undefined : now;
  const id = link_id ?? known?.id ?? null;
  const base = { row, link_id: id, path, before: known ?? null, fields: null, message: null };
  const refuse = (message: string): UnnumberedRow => ({ ...base, action: "conflict", message });
  if (isDoubtful(status)) {
    return refuse("It is uncertain whether this row was applied; resume the job to find out");
  }
  if (now === unread) return refuse("It is unknown which link this row created");
  if (action === "delete") return undoDeletion(asking, receipt, { ...context, now });
  if (now === undefined) return refuse("The link no longer exists");
  const edits = listLaterEdits(now, receipt, context.apps);
  if (edits.length > 0) return refuse(`${edits.join(", ")} changed after the job`);
  if (action === "create") return { ...base, action: "delete" };
  const replaced = planned.before ?? {};
  const names = listGiven(Object.keys(planned.fields ?? {}));
  const unknown = names.filter((name) => replaced[name] === undefined);
  if (unknown.length > 0) {
    return refuse(`The earlier value of ${toSentence(unknown)} is unknown`);
  }
  const fields: LinkFields = writeBack(links.update, replaced, names);
  return { ...base, path: now.path ?? null, action: "update", fields };
}

/** The link as it is. What was made and answered without an id is known by its path alone. */
function readNow(asking: Asking, { planned, link_id }: Receipt): ReturnType<typeof findAtPath> {
  if (link_id !== null) return findById(asking, link_id);
  return planned.action === "create"
    ? findAtPath(asking, planned.path ?? "")
    : Promise.resolve(undefined);
}

async function undoDeletion(
  asking: Undoing,
  { planned, link_id }: Receipt,
  { now, later }: Context & { readonly now: ReadLink | undefined },
): Promise<UnnumberedRow> {
  const { row, path } = planned;
  const before = planned.before ?? {};
  const base = { row, link_id, path, before: null, fields: null };
  if (now !== undefined) {
    return { ...base, before: now, action: "conflict", message: "The link still exists" };
  }
  const other = path === null ? undefined : await findAtPath(asking, path);
  if (other === unread) {
    return {
      ...base,
      action: "conflict",
      message: "A link that could not be read may have this path",
    };
  }
  if (other !== undefined && !later.has(other.id)) {
    return { ...base, action: "conflict", message: "Another link now has this path" };
  }
  const fields = writeAnew(links.create, before);
  // A plan tells of a deletion only what nobody could read of the link.
  if (!asking.keepsBin && planned.message !== null) {
    return { ...base, action: "conflict", message: planned.message };
  }
  if (asking.keepsBin) {
    const message = "The link is restored with its ID, clicks and short path";
    return { ...base, action: "create", fields, message };
  }
  const isShortened = typeof before["shortened_path"] === "string";
  const message = isShortened
    ? "The link is created again with a new ID, without its short path and clicks"
    : "The link is created again with a new ID, without its clicks";
  return { ...base, link_id: null, action: "create", fields, message };
}

/** Fields that were edited after the job: an edit by hand is never undone. */
function listLaterEdits(now: ReadLink, receipt: Receipt, known: KnownApps): readonly string[] {
  const { planned, made } = receipt;
  // What a new link was not given, the service may have filled in.
  if (made !== null) return listEdits(made, now);
  const fields = (planned.fields ?? {}) as LinkFields;
  const { values } = checkLink(fields, "update");
  const own = Object.keys(compareLink(now, { fields, values }, known));
  const touched = new Set(Object.keys(fields).flatMap((field) => [field, `${field}_id`]));
  const others = planned.before === null ? [] : listEdits(planned.before, now);
  return [...own, ...others.filter((field) => !touched.has(field))];
}

/** The members of a link's record that the fields of a row have changed. */
function listGiven(fields: readonly string[]): readonly string[] {
  return writable.filter((name) => fields.includes(nameField(links.update, name)));
}
