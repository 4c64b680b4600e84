import type { Endpoint } from "../../contract/endpoint.ts";
import { contract } from "../../contract/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import { toSentence } from "../../contract/problem.ts";
import { isStoreToken, storeTokens } from "../../contract/rules/link-rules.ts";
import {
  isSame,
  listEdited,
  listWritable,
  writeAnew,
  writeBack,
} from "../../contract/rules/writable-fields.ts";
import type { Effect } from "../../state/history.ts";

/**
 * What puts one effect back, of a single change as of a job's row, given what it was, what it
 * became, and what is there now: an update is put back, what was created is deleted, and what was
 * deleted returns from the bin, or is created again where there is none.
 */

/** A record, null for none, and undefined for what the key may not read, or nobody can. */
type Reading = JsonObject | null | undefined;

/** One call of an undo. */
export type Step = {
  readonly endpoint: Endpoint;
  /** By whose tool the operator chooses whether it may be made; left out, its own. */
  readonly chosenBy?: Endpoint;
  readonly kind: string;
  /** Undefined for what is made anew. */
  readonly id: string | undefined;
  /** The id of what is made anew, as it was. */
  readonly anew?: string | null;
  readonly input: JsonObject;
  readonly now: Reading;
  /** Whether no visitor can know the path that a link has now; left out where it stays. */
  readonly isFresh?: boolean | undefined;
  /** What it will be then; null for nothing. */
  readonly wanted: JsonObject | null;
  /** What became different after the change, and is lost by the undo: field by field. */
  readonly lost: Lost;
};

export type Lost = Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;

/** No step where it is as it was already; or why it cannot be put back. */
export type StepPlan = { readonly steps: readonly Step[] } | { readonly why: string };

const nothing: StepPlan = { steps: [] };

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

export function planStep(effect: Effect, now: Reading, restores: boolean): StepPlan {
  const { kind, id, before, after } = effect;
  const endpoints = endpointsOf[kind];
  if (endpoints === undefined || id === null) {
    return { why: "It is unknown what this change affected." };
  }
  if (before === undefined) {
    return { why: "This key could not read the values from before the change." };
  }
  const why = explainUnread(effect, endpoints, now, restores);
  if (why !== undefined) return { why };
  if (before === null) return planRemoval(effect, endpoints, now);
  if (after === null) return planReturn(effect, endpoints, now, restores);
  return planChange(effect, endpoints, now);
}

/**
 * A field that was not shown, before or now, is neither put back nor taken for what it was. A
 * server that restores what was deleted knows it better.
 */
function explainUnread(
  { before, after, unknown = [] }: Effect,
  { update }: Endpoints,
  now: Reading,
  restores: boolean,
): string | undefined {
  const isReturn = after === null && (now ?? null) === null;
  const lost = listWritable(update, Object.fromEntries(unknown.map((name) => [name, null])));
  if (lost.length > 0 && !(isReturn && restores)) {
    return `The value of ${toSentence(lost)} before the change is unknown.`;
  }
  const involved = Object.keys({ ...before, ...after });
  const sent = involved.some(isStoreToken) ? [...involved, ...storeTokens] : involved;
  const unread = now ? [...new Set(sent)].filter((name) => now[name] === undefined) : [];
  if (unread.length === 0) return undefined;
  return `The current value of ${toSentence(unread)} could not be read.`;
}

/** Away with what was made. */
function planRemoval(
  { kind, id, after }: Effect,
  { destroy, update }: Endpoints,
  now: Reading,
): StepPlan {
  if (now === null || id === null) return nothing;
  const edited = now === undefined || after === null ? [] : listEdited(update, after, now);
  const lost = describeLost(edited, now, after);
  const step = { endpoint: destroy, kind, id, input: { id }, now, wanted: null, lost };
  return { steps: [step] };
}

/** Back with what was deleted. */
function planReturn(
  { kind, id, before }: Effect,
  { create, restore }: Endpoints,
  now: Reading,
  restores: boolean,
): StepPlan {
  if ((now ?? null) !== null) return nothing;
  if (kind === "project") return { why: "A deleted project cannot be restored." };
  const wanted = before ?? {};
  const lost = {};
  if (restores && restore !== undefined && id !== null) {
    const step = { endpoint: restore, chosenBy: create, kind, id, input: { id } };
    return { steps: [{ ...step, now: null, wanted, lost }] };
  }
  const input = writeAnew(create, wanted);
  return {
    steps: [{ endpoint: create, kind, id: undefined, anew: id, input, now: null, wanted, lost }],
  };
}

/** Each field back to what it was; those that are not the API's to write follow by themselves. */
function planChange(effect: Effect, { update }: Endpoints, now: Reading): StepPlan {
  const { kind, id } = effect;
  const before = effect.before ?? {};
  const after = effect.after ?? {};
  if (now === null) return { why: `The ${kind} was deleted. Undo its deletion first.` };
  const writable = listWritable(update, before);
  const names =
    now === undefined ? writable : writable.filter((name) => !isSame(before[name], now[name]));
  if (names.length === 0 || id === null) return nothing;
  const edited = now === undefined ? [] : names.filter((name) => !isSame(after[name], now[name]));
  const lost = describeLost(edited, now, before);
  const whole = now === undefined ? before : { ...now, ...before };
  const sent = names.some(isStoreToken) ? [...new Set([...names, ...storeTokens])] : names;
  const input = { id, ...writeBack(update, whole, sent) };
  const back = Object.fromEntries(names.map((name) => [name, before[name] ?? null]));
  const wanted = now === undefined ? before : { ...now, ...back };
  return { steps: [{ endpoint: update, kind, id, input, now, wanted, lost }] };
}

export function describeLost(names: readonly string[], now: Reading, then: Reading): Lost {
  const members = names.map((name) => {
    return [name, { from: now?.[name] ?? null, to: then?.[name] ?? null }] as const;
  });
  return Object.fromEntries(members);
}
