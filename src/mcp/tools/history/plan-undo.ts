import {
  describeLost,
  planStep,
  type UndoStep,
  type UndoSteps,
} from "../../../bulk/plan/plan-undo.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { toSentence } from "../../../contract/problem.ts";
import { findKindNamed, type ResourceKind } from "../../../contract/resource-kind.ts";
import { isSame } from "../../../contract/rules/writable-fields.ts";
import type { Change, Effect, History } from "../../../state/history.ts";
import { appFields } from "../../results/present-body.ts";
import { ToolFailure } from "../../results/tool-failure.ts";
import { completeAct, isFreshMove, type Act } from "../endpoints/act.ts";
import { findRecord, readRecord, type TargetRecord } from "../targets.ts";
import { describeTemplate, readState, type TemplateState } from "../templates/template-state.ts";
import type { ToolCall } from "../tool.ts";
import { describeEffect, templateId } from "./journal.ts";

/** Plans the requests that undo a change, and rejects an undo that is impossible. */

/**
 * One request of an undo. Its `act` is checked and shown for approval like that of a direct call.
 */
export type StepAct = UndoStep & { readonly act: Act };

/** The requests that undo a change, starting from the current state. */
export type PlannedUndo = {
  readonly change: Change;
  readonly steps: readonly StepAct[];
  /** Whether it is uncertain that the change took effect. */
  readonly isDoubtful: boolean;
  /** Why parts of the change cannot be undone. */
  readonly notRestored: readonly string[];
  /** The current template; set only if the template was changed. */
  readonly template: TemplateState | undefined;
};

type UndoCall = Pick<ToolCall, "callApi" | "callApiFree" | "keyContext">;

export async function planUndo(
  change: Change,
  history: History,
  call: UndoCall,
): Promise<PlannedUndo> {
  const { effects, note, realm } = change;
  const isDoubtful = change.state === "begun";
  // Keys and operator settings are not API resources, so an undo cannot restore them.
  const isForeign = findKindNamed(change.kind) === undefined;
  if (note !== null && (effects.length === 0 || isForeign)) throw refuseUndo(note);
  const template = change.kind === templateId ? await readState(call) : undefined;
  const resolveId = async (id: string) => history.findSuccessor(realm, id);
  const hasBin = call.keyContext.known.binDays !== undefined;
  const steps: StepAct[] = [];
  const notRestored: string[] = [];
  for (const effect of effects.toReversed()) {
    const kind = findKindNamed(effect.kind);
    const read = async ({ id }: Effect) =>
      template !== undefined
        ? describeTemplate(template)
        : kind && id !== null
          ? readRecord(kind, id, call)
          : null;
    const isUnknown = isDoubtful || (effect.id === null && effect.before === null);
    const known =
      isUnknown && kind !== undefined ? await settleEffect(kind, effect, read, call) : effect;
    const current = await resolveIds(known, resolveId);
    const now = await read(current);
    const plan =
      template === undefined ? planStep(current, now, hasBin) : planTemplate(known, now ?? {});
    if ("steps" in plan) for (const step of plan.steps) steps.push(await addAct(step, call));
    // An undo must restore the main target, but may leave side effects in place.
    else if (effect.kind === change.kind) throw refuseUndo(plan.why);
    else notRestored.push(plan.why);
  }
  return { change, steps, isDoubtful, notRestored, template };
}

async function addAct(step: UndoStep, call: UndoCall): Promise<StepAct> {
  const { endpoint, kind, id, input, now, wanted } = step;
  const isUpdate = endpoint === contract.links.update;
  const act = completeAct({
    endpoint,
    kind,
    input,
    id: now === null ? undefined : id,
    before: now,
    isFresh: isUpdate && now ? await isFreshMove(now, input, call) : undefined,
    registered: now === null && kind.group === "apps" ? [{ kind, fields: wanted ?? {} }] : [],
    chosenApps: [],
    missing: [],
  });
  return { ...step, act };
}

type ResolveId = (id: string) => Promise<string>;

/**
 * Replaces outdated IDs of a record and its apps. A record that was deleted and created again has a
 * new ID.
 */
async function resolveIds(effect: Effect, resolveId: ResolveId): Promise<Effect> {
  const { id, before, after } = effect;
  return {
    ...effect,
    id: id === null ? null : await resolveId(id),
    ...(before !== undefined && { before: before && (await resolveApps(before, resolveId)) }),
    after: after && (await resolveApps(after, resolveId)),
  };
}

async function resolveApps(record: JsonObject, resolveId: ResolveId): Promise<JsonObject> {
  const resolved: Record<string, unknown> = { ...record };
  for (const app of appFields) {
    const id = record[`${app}_id`];
    if (typeof id === "string") resolved[`${app}_id`] = await resolveId(id);
  }
  return resolved;
}

/** If a change got no response, determines from the current record whether it took effect. */
async function settleEffect(
  kind: ResourceKind,
  effect: Effect,
  read: (effect: Effect) => Promise<TargetRecord>,
  call: UndoCall,
): Promise<Effect> {
  const { id, before, after } = effect;
  if (before === undefined) return effect;
  if (before === null) {
    const key = after?.[kind.key ?? ""];
    const made = typeof key === "string" ? await findRecord(kind, key, call) : undefined;
    if (made === undefined) throw refuseUndo(unknownOutcome);
    if (made === null) throw refuseUnmade();
    return describeEffect(kind, String(made["id"]), null, made);
  }
  const now = await read(effect);
  if (after === null) {
    if (now === undefined) throw refuseUndo(unknownOutcome);
    if (now !== null) throw refuseUnmade();
    return effect;
  }
  if (!now) return effect;
  if (Object.keys(before).every((name) => isSame(before[name], now[name]))) throw refuseUnmade();
  return describeEffect(kind, id, before, now);
}

const unknownOutcome = "It is unknown whether this change was made.";

export function refuseUndo(
  message: string,
  next = "Tell the user that this cannot be undone.",
): ToolFailure {
  const code = "invalid_arguments";
  return new ToolFailure({ code, message, effect: "none", retry: "never", next });
}

function refuseUnmade(): ToolFailure {
  return refuseUndo(
    "This change was never made: everything is as before.",
    "Tell the user. To undo an earlier change, find its id in the list of changes.",
  );
}

const { save, publish, unpublish } = contract.pageTemplate;

/** Restores the live version before the draft, because publishing replaces the draft. */
function planTemplate({ id, before, after, ...effect }: Effect, now: JsonObject): UndoSteps {
  const kind = findKindNamed(effect.kind);
  const { unknown = [] } = effect;
  if (unknown.length > 0) {
    return { why: `It is unknown what ${toSentence(unknown)} contained before the change.` };
  }
  const wanted = { ...now, ...before };
  const isKnown = ["body", "css", "live"].every((name) => name in wanted && name in now);
  if (kind === undefined || !before || id === null || !isKnown) {
    return { why: "This key cannot read the whole page template, so it cannot be restored." };
  }
  const names = Object.keys(before).filter((name) => !isSame(wanted[name], now[name]));
  const edited = names.filter((name) => !isSame(after?.[name], now[name]));
  const lost = describeLost(edited, now, wanted);
  const steps: UndoStep[] = [];
  let current = now;
  const addStep = (endpoint: UndoStep["endpoint"], input: JsonObject, next: JsonObject) => {
    steps.push({ kind, id, lost, endpoint, input, now: current, wanted: next });
    current = next;
  };
  const live = wanted["live"] as JsonObject | null;
  if (!isSame(live, now["live"])) {
    if (live === null) addStep(unpublish, {}, { ...current, live });
    else addStep(publish, live, { ...current, ...live, live });
  }
  const { body, css } = wanted;
  const isDraft = isSame(body, current["body"]) && isSame(css, current["css"]);
  if (!isDraft) addStep(save, { body, css }, { ...current, body, css });
  return { steps };
}
