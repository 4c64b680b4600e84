import { describeTemplateState, type Condition } from "../../../contract/condition.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { WrittenTemplate } from "../../../contract/page-template.ts";
import { findKindNamed, type ResourceKind } from "../../../contract/resource-kind.ts";
import type { Change, Effect, History } from "../../../state/history.ts";
import { isRefused, ToolFailure } from "../../results/tool-failure.ts";
import { describeCondition, isText } from "../templates/template-state.ts";
import type { Call } from "../tool.ts";
import { describeEffect, readTemplateRecord } from "./describe-effect.ts";
import { templateId } from "./journal-write.ts";
import type { Undo } from "./plan-undo.ts";
import type { Step } from "../../../bulk/plan/undo-step.ts";

/**
 * The calls of an undo, one after the other. It is a change itself, whose row is there before the
 * first call leaves. Where it breaks off, another undo of the same change puts back the rest.
 */
export async function carryOutUndo(undo: Undo, history: History, call: Call): Promise<Change> {
  const { change, steps } = undo;
  const { writer } = call;
  const { kind, target_id, target_key, name } = change;
  const target = { kind, target_id, target_key, name };
  const begun = { ...writer, ...target, tool, effects: [], undoes: change.id };
  const undoing = await history.begin(begun);
  const done: Effect[] = [];
  let condition = undo.template && describeCondition(undo.template);
  for (const step of steps) {
    await history.note(undoing, {
      effects: [...done, describeStep(step, step.id, step.wanted)],
    });
    const shown = kind === templateId ? condition : shownOf(step);
    const body = await send(step, shown, call, history).catch(async (error: unknown) => {
      if (isRefused(error)) await takeBack(history, undoing, done);
      throw done.length > 0 ? tellHalfDone(error, change) : error;
    });
    const made = body?.["id"];
    const id = step.id ?? (typeof made === "string" ? made : undefined);
    if (step.id === undefined && id !== undefined) {
      await history.noteSuccessor(writer.realm, step.anew ?? "", id);
    }
    if (kind === templateId) {
      // Every entry of the template that writes answers with it.
      const template = body as WrittenTemplate;
      const text = isText(template) ? template : undefined;
      condition = { shown: describeTemplateState(text, template.live_version?.id ?? null) };
      done.push(describeStep(step, id, { ...step.wanted, ...readTemplateRecord(template) }));
    } else {
      const after = step.wanted === null ? null : { ...step.wanted, ...body };
      done.push(describeStep(step, id, after));
    }
  }
  const current = target_id === null ? null : await history.findSuccessor(writer.realm, target_id);
  const ended = { ...target, target_id: current, effects: done, state: "done" } as const;
  await history.note(undoing, ended);
  return { ...undoing, ...ended };
}

const tool = "undo";

async function send(
  { endpoint, input }: Step,
  condition: Condition | undefined,
  call: Call,
  history: History,
): Promise<JsonObject | null> {
  const { realm } = call.writer;
  const settled = await followChosen(input, async (id) => history.findSuccessor(realm, id));
  const body: unknown = await call.ask(endpoint, settled, condition);
  return body as JsonObject | null;
}

/** An app that an earlier step has registered anew has another id by now. */
async function followChosen(
  input: JsonObject,
  follow: (id: string) => Promise<string>,
): Promise<JsonObject> {
  const settled: Record<string, unknown> = { ...input };
  for (const app of ["ios_app", "android_app"]) {
    const choice = input[app] as { readonly id?: unknown } | null | undefined;
    if (typeof choice?.id === "string") settled[app] = { id: await follow(choice.id) };
  }
  return settled;
}

function shownOf({ now }: Step): Condition | undefined {
  return now === null || now === undefined ? undefined : { shown: now };
}

/** Nothing was done by this step: what was done before it stays noted, if there was anything. */
async function takeBack(history: History, change: Change, done: readonly Effect[]): Promise<void> {
  await (done.length === 0 ? history.drop(change) : history.note(change, { effects: done }));
}

/** A step that was refused changed nothing, but those before it did. */
function tellHalfDone(error: unknown, { id }: Change): unknown {
  if (!isRefused(error)) return error;
  const { failure } = error;
  const next =
    `Tell the user that only part of the change was undone. To undo the rest, call ${tool} with ` +
    `change_id ${id}. ${failure.next}`;
  return new ToolFailure({ ...failure, effect: "done", next });
}

function describeStep(step: Step, id: string | undefined, after: JsonObject | null): Effect {
  // The kinds of steps are those of resources.
  const kind = findKindNamed(step.kind) as ResourceKind;
  return describeEffect(kind, id ?? null, step.now, after);
}
