import { setImmediate as nextTurn } from "node:timers/promises";
import type { Endpoint } from "../../contract/endpoint.ts";
import { contract } from "../../contract/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { LinkFields } from "../../contract/links.ts";
import { toSentence } from "../../contract/problem.ts";
import { findKindNamed, type ResourceKind } from "../../contract/resource-kind.ts";
import { checkLink, isStoreToken, storeTokens } from "../../contract/rules/link-rules.ts";
import {
  isSame,
  listEdited,
  listWritable,
  nameField,
  writeAnew,
  writeBack,
} from "../../contract/rules/writable-fields.ts";
import type { Effect } from "../../state/history.ts";
import type { Job } from "../../state/jobs.ts";
import type { Receipt } from "../../state/job-runs.ts";
import { findAtPath, findById, unread } from "../find-links.ts";
import type { PlanContext, PlannedRow } from "./plan-rows.ts";

/** Plans the undo of single changes, and of the rows of a job. */

const { links } = contract;

/** A record's current state: null if it does not exist, undefined if it could not be read. */
type ReadRecord = JsonObject | null | undefined;

export type UndoStep = {
  readonly endpoint: Endpoint;
  readonly kind: ResourceKind;
  /**
   * The record's ID in the history. If a deleted record was created again, its current ID differs.
   */
  readonly id: string;
  readonly input: JsonObject;
  readonly now: ReadRecord;
  /** The record after the step, or null if the step deletes it. */
  readonly wanted: JsonObject | null;
  /** Later edits that the undo would overwrite. */
  readonly lost: LostEdits;
};

type LostEdits = Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;

/** `steps` is empty if there is nothing left to undo. `why` explains why an undo is impossible. */
export type UndoSteps = { readonly steps: readonly UndoStep[] } | { readonly why: string };

/** `restore` restores a deleted record, which keeps its ID. */
type Endpoints = Readonly<Record<"create" | "update" | "destroy", Endpoint>> & {
  readonly restore?: Endpoint;
};

export const endpointsOf: Readonly<Record<string, Endpoints>> = {
  link: links,
  ios_app: contract.iosApps,
  android_app: contract.androidApps,
  project: contract.projects,
};

/**
 * Plans the undo of one effect of a change. An update is reverted, and a created record is deleted.
 * A deleted record is restored from the bin. If the server has no bin, the record is created again.
 */
export function planStep(effect: Effect, now: ReadRecord, hasBin: boolean): UndoSteps {
  const { id, before, after } = effect;
  const kind = findKindNamed(effect.kind);
  const endpoints = endpointsOf[effect.kind];
  if (kind === undefined || endpoints === undefined || id === null) {
    return { why: "It is unknown what this change affected." };
  }
  if (before === undefined) {
    return { why: "This key could not read the values from before the change." };
  }
  const why = explainUnread(effect, endpoints, now, hasBin);
  if (why !== undefined) return { why };
  const { create, update, destroy, restore } = endpoints;
  const target = { kind, id, now };
  if (before === null) {
    if (now === null) return { steps: [] };
    const edited = now === undefined || after === null ? [] : listEdited(update, after, now);
    const lost = describeLost(edited, now, after);
    return { steps: [{ ...target, endpoint: destroy, input: { id }, wanted: null, lost }] };
  }
  if (after !== null) return planUpdate(target, before, after, update);
  if ((now ?? null) !== null) return { steps: [] };
  if (kind.name === "project") return { why: "A deleted project cannot be restored." };
  const back =
    hasBin && restore !== undefined
      ? { endpoint: restore, input: { id } }
      : { endpoint: create, input: writeAnew(create, before) };
  return { steps: [{ ...target, ...back, now: null, wanted: before, lost: {} }] };
}

/**
 * Explains why a field with an unknown value prevents the undo. If the server restores a deleted
 * record, its previous values need not be known.
 */
function explainUnread(
  { before, after, unknown = [] }: Effect,
  { update }: Endpoints,
  now: ReadRecord,
  hasBin: boolean,
): string | undefined {
  const isRestored = hasBin && after === null && (now ?? null) === null;
  const hidden = listWritable(update, Object.fromEntries(unknown.map((name) => [name, null])));
  if (hidden.length > 0 && !isRestored) {
    return `The value of ${toSentence(hidden)} before the change is unknown.`;
  }
  const involved = Object.keys({ ...before, ...after });
  const reverted = involved.filter((name) => before && !isSame(before[name], now?.[name]));
  const needed = new Set([...involved, ...addStoreTokens(reverted)]);
  const unreadNames = now ? [...needed].filter((name) => now[name] === undefined) : [];
  if (unreadNames.length === 0) return undefined;
  return `The current value of ${toSentence(unreadNames)} could not be read.`;
}

/** Reverts the writable fields. The server computes all other fields from them. */
function planUpdate(
  target: Pick<UndoStep, "kind" | "id" | "now">,
  before: JsonObject,
  after: JsonObject,
  update: Endpoint,
): UndoSteps {
  const { kind, id, now } = target;
  if (now === null) return { why: `The ${kind.name} was deleted. Undo its deletion first.` };
  const names = listWritable(update, before).filter(
    (name) => now === undefined || !isSame(before[name], now[name]),
  );
  if (names.length === 0) return { steps: [] };
  const edited = now === undefined ? [] : names.filter((name) => !isSame(after[name], now[name]));
  const lost = describeLost(edited, now, before);
  const input = { id, ...writeBack(update, { ...now, ...before }, addStoreTokens(names)) };
  const back = Object.fromEntries(names.map((name) => [name, before[name] ?? null]));
  const wanted = now === undefined ? before : { ...now, ...back };
  return { steps: [{ ...target, endpoint: update, input, wanted, lost }] };
}

/** Adds the second store token, because the API requires both together. */
function addStoreTokens(names: readonly string[]): readonly string[] {
  return names.some(isStoreToken) ? [...new Set([...names, ...storeTokens])] : names;
}

export function describeLost(
  names: readonly string[],
  now: ReadRecord,
  then: ReadRecord,
): LostEdits {
  const members = names.map((name) => {
    return [name, { from: now?.[name] ?? null, to: then?.[name] ?? null }] as const;
  });
  return Object.fromEntries(members);
}

/** Rows are planned in parallel, because each row needs requests of its own. */
const mostAtOnce = 8;

/**
 * Plans the undo of a job's rows. Starts with the last row, because a later row may have taken the
 * path of an earlier one.
 */
export async function* planUndo(planning: PlanContext, job: Job): AsyncGenerator<PlannedRow> {
  /** The links of later rows. These rows are undone first, and may free a path. */
  const later = new Set<string>();
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const page = await planning.jobs.listReceipts(job, { before, limit: mostAtOnce });
    for (const { link_id } of page) later.add(link_id ?? "");
    const written = page.filter(({ status }) => status !== null && status !== "rejected");
    yield* await Promise.all(written.map((receipt) => undoRow(planning, receipt, later)));
    const last = page.at(-1);
    if (last === undefined) return;
    before = last.position;
    // The embedded service answers synchronously, so let other work run.
    await nextTurn();
  }
}

async function undoRow(
  planning: PlanContext,
  receipt: Receipt,
  later: ReadonlySet<string>,
): Promise<PlannedRow> {
  const { row, path, status, link_id } = receipt;
  // If the response to the creation contained no ID, only the path identifies the link.
  const isByPath = link_id === null && receipt.action === "create";
  const read = await (isByPath
    ? findAtPath(planning, path ?? "")
    : findById(planning, link_id ?? ""));
  const now = read === unread ? null : (read ?? null);
  const id = link_id ?? now?.id ?? null;
  const base = { row, link_id: id, path, before: now, fields: null, message: null, problems: [] };
  const refuse = (message: string): PlannedRow => ({ ...base, action: "conflict", message });
  if (status !== "done") {
    return refuse("It is uncertain whether this row was applied; resume the job to find out");
  }
  if (read === unread) return refuse("It is unknown which link this row created");
  const hasBin = planning.known?.binDays !== undefined;
  const plan = planStep(describeEffect(receipt, id), now, hasBin);
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
  const taken = path === null ? undefined : await findAtPath(planning, path);
  if (taken === unread) return refuse("A link that could not be read may have this path");
  if (taken !== undefined && !later.has(taken.id)) return refuse("Another link now has this path");
  if (endpoint === links.restore) {
    const fields = writeAnew(links.create, receipt.before ?? {});
    const message = "The link is restored with its ID, clicks and short path";
    return { ...base, action: "create", fields, message };
  }
  const isShortened = typeof receipt.before?.["shortened_path"] === "string";
  const losses = isShortened ? "short path and clicks" : "clicks";
  const message = `The link is created again with a new ID, without its ${losses}`;
  return { ...base, link_id: null, action: "create", fields: input, message };
}

/**
 * Describes a row as the effect of a change. For fields that the response lacks, uses the values
 * that were sent.
 */
function describeEffect({ action, before, made, ...receipt }: Receipt, id: string | null): Effect {
  const fields = (receipt.fields ?? {}) as LinkFields;
  const { ios_app, android_app } = fields;
  const isDeletion = action === "delete";
  const after = {
    ...before,
    ...checkLink(fields, "update").values,
    ...(ios_app !== undefined && { ios_app_id: ios_app?.id ?? null }),
    ...(android_app !== undefined && { android_app_id: android_app?.id ?? null }),
    ...made,
  };
  const written = listWritable(links.update, links.show.response.shape).filter(
    (name) => isDeletion || nameField(links.update, name) in fields,
  );
  const unknown = before === null ? [] : written.filter((name) => before[name] === undefined);
  return { kind: "link", id, before, after: isDeletion ? null : after, unknown };
}
