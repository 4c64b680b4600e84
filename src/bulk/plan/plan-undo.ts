import { setImmediate as nextTurn } from "node:timers/promises";
import type { Endpoint } from "../../contract/endpoint.ts";
import { contract } from "../../contract/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { LinkFields, ReadLink } from "../../contract/links.ts";
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
import type { Job, Jobs } from "../../state/jobs.ts";
import type { Receipt } from "../../state/job-runs.ts";
import type { PlanRow } from "../../state/plans.ts";
import type { ServerAccess } from "../owner.ts";
import { emptyRow } from "../rows/check-rows.ts";
import { findAtPath, findById, unread } from "../select/find-links.ts";
import type { PlannedRow } from "./plan-rows.ts";

/** Plans the undo of a single change, and of a job: each of its rows as a change of one link. */

const { links } = contract;

export type Undoing = ServerAccess & {
  readonly jobs: Jobs;
  /** Whether deleted links return as they were. */
  readonly keepsBin: boolean;
};

/** Rows that are read at the same time: each row takes requests of its own. */
const mostAtOnce = 8;

/** Starts with the last row: only in that order is a path that was moved twice free again. */
export async function* planUndo(undoing: Undoing, job: Job): AsyncGenerator<PlannedRow> {
  /** Links of later rows, which are put back before this one. */
  const later = new Set<string>();
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const page = await undoing.jobs.listReceipts(job, { before, limit: mostAtOnce });
    for (const { link_id } of page) later.add(link_id ?? "");
    const written = page.filter(({ status }) => status !== null && status !== "rejected");
    yield* await Promise.all(written.map((receipt) => undoRow(undoing, receipt, later)));
    const last = page.at(-1);
    if (last === undefined) return;
    before = last.position;
    // A service in this process answers without a pause: other work of the process runs here.
    await nextTurn();
  }
}

async function undoRow(
  undoing: Undoing,
  receipt: Receipt,
  later: ReadonlySet<string>,
): Promise<PlannedRow> {
  const { row, path, status } = receipt;
  const read = await readNow(undoing, receipt);
  const now = read === unread ? null : (read ?? null);
  const id = receipt.link_id ?? now?.id ?? null;
  const base = { ...emptyRow, row, link_id: id, path, before: now, fields: null };
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

/** The link as it is now. A created link whose response had no id can only be found by its path. */
function readNow(
  asking: ServerAccess,
  { action, path, link_id }: Receipt,
): Promise<ReadLink | typeof unread | undefined> {
  if (link_id !== null) return findById(asking, link_id);
  return action === "create" ? findAtPath(asking, path ?? "") : Promise.resolve(undefined);
}

/** The row as a change of one link, from its planned state to the state in the response. */
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

/** The link that a row should produce. The response may be lost, or lack a field. */
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

/** The fields of the response that the row does not predict; an undo needs no others. */
export function pickUnexpected(planned: PlanRow, link: JsonObject): JsonObject {
  const expected = expectLink(planned);
  const names = listWritable(links.update, link).filter(
    (name) => !(name in expected) || !isSame(expected[name], link[name]),
  );
  return Object.fromEntries(names.map((name) => [name, link[name]]));
}

/** A record, null for none, and undefined when it could not be read. */
type ReadRecord = JsonObject | null | undefined;

/** One request of an undo. */
export type UndoStep = {
  readonly endpoint: Endpoint;
  readonly kind: ResourceKind;
  /** As the change noted it: what is created again gets another id. */
  readonly id: string;
  readonly input: JsonObject;
  readonly now: ReadRecord;
  /** The record after the step; null for none. */
  readonly wanted: JsonObject | null;
  /** What changed after the change and is replaced by the undo, field by field. */
  readonly lost: Lost;
};

export type Lost = Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;

/** No step when nothing is left to undo; or why it cannot be undone. */
export type UndoSteps = { readonly steps: readonly UndoStep[] } | { readonly why: string };

type Endpoints = {
  readonly create: Endpoint;
  readonly update: Endpoint;
  readonly destroy: Endpoint;
  /** Brings back what was deleted, with its id. */
  readonly restore?: Endpoint;
};

export const endpointsOf: Readonly<Record<string, Endpoints>> = {
  link: contract.links,
  ios_app: contract.iosApps,
  android_app: contract.androidApps,
  project: contract.projects,
};

/**
 * Undoes one effect, of a single change or of a job's row, given the record now: an update is put
 * back, what was created is deleted, and what was deleted returns from the bin, or is created
 * again where no bin exists.
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
 * A field that was not shown, before or now, is neither put back nor assumed unchanged. A server
 * that restores what was deleted knows its value.
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
  const involved = addStoreTokens(Object.keys({ ...before, ...after }));
  const unread = now ? involved.filter((name) => now[name] === undefined) : [];
  if (unread.length === 0) return undefined;
  return `The current value of ${toSentence(unread)} could not be read.`;
}

/** Puts each field back; fields that no call can write follow by themselves. */
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

/** The store's tokens are written together. */
function addStoreTokens(names: readonly string[]): readonly string[] {
  return names.some(isStoreToken) ? [...new Set([...names, ...storeTokens])] : names;
}

export function describeLost(names: readonly string[], now: ReadRecord, then: ReadRecord): Lost {
  const members = names.map((name) => {
    return [name, { from: now?.[name] ?? null, to: then?.[name] ?? null }] as const;
  });
  return Object.fromEntries(members);
}
