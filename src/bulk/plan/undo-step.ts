import type { Endpoint } from "../../contract/endpoint.ts";
import { contract } from "../../contract/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import { toSentence } from "../../contract/problem.ts";
import { findKindNamed, type ResourceKind } from "../../contract/resource-kind.ts";
import { isStoreToken, storeTokens } from "../../contract/rules/link-rules.ts";
import {
  isSame,
  listEdited,
  listWritable,
  writeAnew,
  writeBack,
} from "../../contract/rules/writable-fields.ts";
import type { Effect } from "../../state/history.ts";

/** Plans the undo of a single change, or of one row of a job. */

/** Null if the record does not exist, undefined if it could not be read. */
type ReadRecord = JsonObject | null | undefined;

export type UndoStep = {
  readonly endpoint: Endpoint;
  readonly kind: ResourceKind;
  /** The record's id in the change history. A record that is created again gets another id. */
  readonly id: string;
  readonly input: JsonObject;
  readonly now: ReadRecord;
  /** The record after the step, or null if the step deletes it. */
  readonly wanted: JsonObject | null;
  /** Later edits that the undo would overwrite. */
  readonly lost: LostEdits;
};

export type LostEdits = Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;

/** `steps` is empty if nothing is left to undo. `why` explains why an undo is impossible. */
export type UndoSteps = { readonly steps: readonly UndoStep[] } | { readonly why: string };

type Endpoints = {
  readonly create: Endpoint;
  readonly update: Endpoint;
  readonly destroy: Endpoint;
  /** Restores a deleted record with its id. */
  readonly restore?: Endpoint;
};

export const endpointsOf: Readonly<Record<string, Endpoints>> = {
  link: contract.links,
  ios_app: contract.iosApps,
  android_app: contract.androidApps,
  project: contract.projects,
};

/**
 * Updates are reverted and created records are deleted. Deleted records are restored from the bin,
 * or created again if the server has no bin.
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
 * Explains why a field with an unknown value cannot be reverted. A server that restores a deleted
 * record knows the values.
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

/** Reverts each writable field. The server derives the other fields. */
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

/** The API requires both store tokens together. */
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
