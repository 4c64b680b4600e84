import {
  describeLost,
  endpointsOf,
  planStep,
  type Step,
  type StepPlan,
} from "../../../bulk/plan/undo-step.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKindNamed } from "../../../contract/resource-kind.ts";
import { isSame, listEdited } from "../../../contract/rules/writable-fields.ts";
import type { Change, Effect, History } from "../../../state/history.ts";
import { isFreshMove } from "../endpoints/act.ts";
import { findRecord, readRecord, type Reading } from "../targets.ts";
import { describeTemplate, readState, type TemplateState } from "../templates/template-state.ts";
import type { Call } from "../tool.ts";
import { describeEffect } from "./describe-effect.ts";
import { templateId } from "./journal-write.ts";

/** A change, read beside what is there now: which calls put it back, and what speaks against it. */

export type Undo = {
  readonly change: Change;
  readonly steps: readonly Step[];
  /** Whether nobody knows if it was done by this change at all. */
  readonly isDoubtful: boolean;
  /** Parts of it that cannot be put back. */
  readonly lacking: readonly string[];
  /** The template as it is now, where the change is one of it. */
  readonly template: TemplateState | undefined;
};

/** Why there is no undo; the sentence is for the person. */
export class NotUndoable extends Error {
  override readonly name = "NotUndoable";
  readonly next: string;

  constructor(message: string, next = "Tell the user that this cannot be undone.") {
    super(message);
    this.next = next;
  }
}

type Asking = Pick<Call, "ask" | "askFree" | "keyContext">;

export async function planUndo(change: Change, history: History, call: Asking): Promise<Undo> {
  const isDoubtful = change.state === "begun";
  const template = change.kind === templateId ? await readState(call) : undefined;
  const steps: Step[] = [];
  const lacking: string[] = [];
  const { effects, note } = change;
  // A key, or what the operator sets of a project, is no resource of the API.
  const isForeign = findKindNamed(change.kind) === undefined;
  if (note !== null && (effects.length === 0 || isForeign)) throw new NotUndoable(note);
  for (const effect of effects.toReversed()) {
    const isUnknown = isDoubtful || (effect.id === null && effect.before === null);
    const settled = isUnknown ? await settleEffect(effect, template, call) : effect;
    const plan = await planEffect(settled, { change, history, call, template });
    if ("steps" in plan) for (const step of plan.steps) steps.push(await judgeStep(step, call));
    // What came along may be lacking, but not what it was about.
    else if (effect.kind === change.kind) throw new NotUndoable(plan.why);
    else lacking.push(plan.why);
  }
  return { change, steps, isDoubtful, lacking, template };
}

async function judgeStep(step: Step, call: Asking): Promise<Step> {
  const { endpoint, input, now } = step;
  if (endpoint !== contract.links.update || !now) return step;
  return { ...step, isFresh: await isFreshMove(now, input, call) };
}

type Planning = {
  readonly change: Change;
  readonly history: History;
  readonly call: Asking;
  readonly template: TemplateState | undefined;
};

async function planEffect(
  effect: Effect,
  { change, history, call, template }: Planning,
): Promise<StepPlan> {
  if (template !== undefined) return planTemplate(effect, describeTemplate(template));
  const { realm } = change;
  const current = await followIds(effect, history, realm);
  const now = await readNow(current.kind, current.id, call);
  const restores = call.keyContext.known.binDays !== undefined;
  return planStep(current, now, restores);
}

/** What was deleted and made anew has another id since, and so has an app that a link opens. */
async function followIds(effect: Effect, history: History, realm: string): Promise<Effect> {
  const follow = async (id: string) => history.findSuccessor(realm, id);
  const { id, before, after } = effect;
  return {
    ...effect,
    id: id === null ? null : await follow(id),
    ...(before !== undefined && { before: before && (await followApps(before, follow)) }),
    after: after && (await followApps(after, follow)),
  };
}

const appIds = ["ios_app_id", "android_app_id"] as const;

async function followApps(
  record: JsonObject,
  follow: (id: string) => Promise<string>,
): Promise<JsonObject> {
  const followed: Record<string, unknown> = { ...record };
  for (const field of appIds) {
    const id = record[field];
    if (typeof id === "string") followed[field] = await follow(id);
  }
  return followed;
}

async function readNow(name: string, id: string | null, call: Asking): Promise<Reading> {
  const kind = findKindNamed(name);
  return kind === undefined || id === null ? null : readRecord(kind, id, call);
}

/** The end of the call was never seen: what is there now tells whether it was done. */
async function settleEffect(
  effect: Effect,
  template: TemplateState | undefined,
  call: Asking,
): Promise<Effect> {
  const { kind: name, before, after } = effect;
  const kind = findKindNamed(name);
  if (kind === undefined || before === undefined) return effect;
  if (template !== undefined) {
    const now = describeTemplate(template);
    const isSameAll = Object.keys(now).every((field) => isSame(now[field], before?.[field]));
    if (isSameAll) throw refuseUndone();
    return describeEffect(kind, effect.id, before, now);
  }
  if (before === null) {
    const key = after?.[kind.key ?? ""];
    if (typeof key !== "string") {
      throw new NotUndoable(
        "It is unknown whether this change was made, and what it created cannot be found.",
      );
    }
    const made = await findRecord(kind, key, call);
    if (made === undefined) throw new NotUndoable("It is unknown whether this change was made.");
    if (made === null) throw refuseUndone();
    return describeEffect(kind, String(made["id"]), null, made);
  }
  const now = await readNow(name, effect.id, call);
  if (after === null && now !== null) throw refuseUndone();
  if (after === null || (now ?? null) === null) return effect;
  const update = endpointsOf[name]?.update;
  if (update === undefined) return effect;
  if (listEdited(update, before, now ?? {}).length === 0) throw refuseUndone();
  return describeEffect(kind, effect.id, before, now ?? null);
}

function refuseUndone(): NotUndoable {
  return new NotUndoable(
    "This change was never made: everything is as before.",
    "Tell the user. To undo an earlier change, find its id in the list of changes.",
  );
}

/**
 * What puts the links' page back: what is live first, for to publish replaces the draft, and then
 * the draft. There is no way to take a draft away but to empty it.
 */

const { save, publish, unpublish } = contract.pageTemplate;

/** `now` has no member for what the key may not read. */
function planTemplate({ kind, id, before, after }: Effect, now: JsonObject): StepPlan {
  if ((before ?? null) === null || id === null) return { why: unreadTemplate };
  const wanted = { ...now, ...before };
  if (!["body", "css", "live"].every((name) => name in wanted && name in now)) {
    return { why: unreadTemplate };
  }
  const names = Object.keys(before ?? {}).filter((name) => !isSame(wanted[name], now[name]));
  const edited = names.filter((name) => !isSame(after?.[name], now[name]));
  const shared = { kind, id, lost: describeLost(edited, now, wanted) };
  const steps: Step[] = [];
  let current = now;
  const go = (endpoint: Step["endpoint"], input: JsonObject, next: JsonObject) => {
    steps.push({ ...shared, endpoint, input, now: current, wanted: next });
    current = next;
  };
  const live = wanted["live"] as JsonObject | null;
  if (!isSame(live, now["live"])) {
    if (live === null) go(unpublish, {}, { ...current, live });
    else go(publish, live, { ...current, ...live, live });
  }
  const { body, css } = wanted;
  const isDraft = isSame(body, current["body"]) && isSame(css, current["css"]);
  if (!isDraft) go(save, { body, css }, { ...current, body, css });
  return { steps };
}

const unreadTemplate = "This key cannot read the whole page template, so it cannot be restored.";
