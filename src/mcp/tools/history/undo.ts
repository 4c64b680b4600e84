import * as z from "zod";
import { endpointsOf, type UndoStep } from "../../../bulk/plan/plan-undo.ts";
import { describeTemplateState, pickLasting } from "../../../contract/condition.ts";
import { contract } from "../../../contract/index.ts";
import { isJsonObject, type JsonObject } from "../../../contract/json.ts";
import type { LinkFields } from "../../../contract/links.ts";
import type { WrittenTemplate } from "../../../contract/page-template.ts";
import { findKind, findKindNamed } from "../../../contract/resource-kind.ts";
import { writeAnew } from "../../../contract/rules/writable-fields.ts";
import { isStorable } from "../../../contract/text.ts";
import type { Change, History } from "../../../state/history.ts";
import { quote } from "../../../text/show-hidden.ts";
import { refuseForeign } from "../../access/limit-destinations.ts";
import { requireAct, requireRight } from "../../access/key-access.ts";
import type { Fact, Question } from "../../approval/question.ts";
import { writeValue } from "../../approval/question-text.ts";
import { appFields } from "../../results/present-body.ts";
import { isRefused, ToolFailure } from "../../results/tool-failure.ts";
import { readAppName, settleApps } from "../apps.ts";
import { refuseMissing } from "../bulk/bulk-tool.ts";
import { showPlan } from "../bulk/show-plan.ts";
import { actAsShown } from "../endpoints/run-endpoint.ts";
import type { Act } from "../endpoints/act.ts";
import { refuseInvalid } from "../endpoints/check-act.ts";
import { previewAct } from "../endpoints/preview-act.ts";
import { previewWrite } from "../templates/preview-publication.ts";
import {
  describeCondition,
  isText,
  leaveOutTexts,
  pickText,
  refuseForeignPage,
  refuseUnpublishable,
} from "../templates/template-state.ts";
import { makeTool, type ToolCall, type Tool } from "../tool.ts";
import {
  journal,
  type JournalStep,
  describeEffect,
  readTemplateRecord,
  templateId,
} from "./journal.ts";
import { readAnyWrite } from "./list-changes.ts";
import { planUndo, refuseUndo, type StepAct, type PlannedUndo } from "./plan-undo.ts";
import { otherChangeSchema, showChange } from "./show-change.ts";

/** The tool that undoes a change. Its requests follow the same rules as any other call. */

const name = "undo";
const linkKind = findKind(contract.links.show);

export function createUndo(): Tool {
  return makeTool({
    name,
    title: "Undo a change",
    description:
      "Undo a change from the history, by default this key's last one. " +
      "Needs approval if data would be lost. For a job, returns a plan to apply.",
    group: "history",
    effect: "destroy",
    idempotent: false,
    overwrites: true,
    readAccess: readAnyWrite,
    fields: () => ({
      change_id: z.string().optional().describe("Id of a change, not of a link"),
    }),
    result: () => ({
      change: otherChangeSchema.optional(),
      plan: z.looseObject({ id: z.unknown() }).optional(),
    }),
    run: async (args, call) => {
      const history = await call.keyContext.openHistory();
      const change = await findChange(args["change_id"], history, call);
      if (change.undone_by !== null) {
        throw refuseUndo(
          `It was already undone, by change ${change.undone_by}.`,
          "To redo it, undo that change.",
        );
      }
      if (change.kind === "job") return planJobUndo(change, call);
      const undone = showChange(await undo(change, history, call), call.keyContext);
      return change.kind === templateId ? leaveOutTexts({}, undone) : { change: undone };
    },
  });
}

async function findChange(
  id: unknown,
  history: History,
  { keyContext }: ToolCall,
): Promise<Change> {
  const { readers, realm, key_print } = keyContext;
  const found =
    typeof id === "string"
      ? isStorable(id) && (await history.find(readers, id))
      : await history.findLast({ realm, key_print });
  if (found !== undefined && found !== false) return found;
  if (typeof id !== "string") {
    throw refuseMissing(
      "This key has no change to undo.",
      "To undo another change, find its id in the list of changes.",
    );
  }
  throw refuseMissing(
    `No change has the id ${quote(id)}. undo takes the id of a change, not of a link or app.`,
    "To find the id, list the changes with the link or app as the target.",
  );
}

function undo(change: Change, history: History, call: ToolCall): Promise<Change> {
  return actAsShown(async () => {
    const planned = await planUndo(change, history, call);
    requireRights(planned, call);
    await refuseForeignSteps(planned, call);
    const overwrites = planned.steps.some(({ endpoint }) => endpoint.overwrites);
    return {
      tool: name,
      args: { change_id: change.id },
      target: change.target_id ?? "",
      state: describeState(planned),
      readState: async () => describeState(await planUndo(change, history, call)),
      endpoints: planned.steps.map(({ endpoint }) => endpoint),
      approval: needsApproval(planned) ? "always" : overwrites ? "after_many" : "never",
      describe: async () => {
        await refuseInvalidUndo(planned, call);
        return previewUndo(planned, call);
      },
      carryOut: () => carryOut(planned, history, call),
    };
  }, call);
}

/** Throws unless the operator and the key's permissions allow each request. */
function requireRights({ steps }: PlannedUndo, { keyContext }: ToolCall): void {
  for (const { endpoint, kind, now } of steps) {
    requireRight({ tool: name, endpoint }, keyContext);
    // Restoring a record requires the right to create one, because not every restore endpoint has a
    // tool.
    requireAct((now === null && endpointsOf[kind.name]?.create) || endpoint, keyContext);
  }
}

/** Checks the destinations of restored links, because restore requests do not contain them. */
async function refuseForeignSteps({ steps, template }: PlannedUndo, call: ToolCall): Promise<void> {
  if (template !== undefined) {
    for (const { input } of steps) await refuseForeignPage(input, template, call);
  }
  const problems = steps.flatMap(({ kind, now, wanted }) =>
    kind === linkKind
      ? call.keyContext.checkDestinations((wanted ?? {}) as LinkFields, now ?? {})
      : [],
  );
  refuseForeign(problems);
}

/**
 * An undo needs approval if one of its requests does, if it would overwrite a later change, or if
 * the current state is unknown.
 */
function needsApproval({ steps, isDoubtful }: PlannedUndo): boolean {
  return (
    isDoubtful ||
    steps.some(({ act, now, lost }) => {
      return act.reasons.length > 0 || now === undefined || Object.keys(lost).length > 0;
    })
  );
}

function describeState({ steps }: PlannedUndo): unknown {
  return steps.map(({ endpoint, input, now }) => [
    endpoint.tool,
    input,
    now ? pickLasting(now) : null,
  ]);
}

/** Sends the requests one by one. After a failure, undoing the change again sends the rest. */
async function carryOut(
  { change, steps, template }: PlannedUndo,
  history: History,
  call: ToolCall,
): Promise<Change> {
  const { realm } = call.writer;
  const { kind, target_id, target_key, name: called } = change;
  const resolveId = async (id: string) => history.findSuccessor(realm, id);
  let condition = template && describeCondition(template);
  let done = 0;
  const journalStep = (step: StepAct): JournalStep => {
    const { endpoint, now, wanted } = step;
    const isCreation = endpoint === endpointsOf[step.kind.name]?.create;
    const describe = (id: string | null, after: JsonObject | null) =>
      describeEffect(step.kind, id, now, after);
    return {
      intended: describe(isCreation ? null : step.id, wanted),
      send: async () => {
        const input = await resolveChosenApps(step.input, resolveId);
        const shown = template === undefined && now ? { shown: now } : condition;
        const body: unknown = await call.callApi(endpoint, input, shown);
        done += 1;
        return body;
      },
      describe: async (body) => {
        if (template !== undefined) {
          const written = body as WrittenTemplate;
          const live_id = written.live_version?.id ?? null;
          condition = {
            shown: describeTemplateState(isText(written) ? written : undefined, live_id),
          };
          return { effects: [describe(step.id, { ...wanted, ...readTemplateRecord(written) })] };
        }
        const made = isJsonObject(body) ? body : {};
        const id = isCreation ? readId(made) : step.id;
        if (isCreation && id !== null) await history.noteSuccessor(realm, step.id, id);
        const current = target_id && (await resolveId(target_id));
        return { effects: [describe(id, wanted && { ...wanted, ...made })], target_id: current };
      },
    };
  };
  try {
    const begun = { kind, target_id, target_key, name: called, effects: [], undoes: change.id };
    return (await journal(begun, steps.map(journalStep), call)).change;
  } catch (error) {
    throw done > 0 && isRefused(error) ? explainPartial(error, change) : error;
  }
}

function readId({ id }: JsonObject): string | null {
  return typeof id === "string" ? id : null;
}

/** If an earlier step registered an app again, replaces the app's old ID with its new one. */
async function resolveChosenApps(
  input: JsonObject,
  resolveId: (id: string) => Promise<string>,
): Promise<JsonObject> {
  const resolved: Record<string, unknown> = { ...input };
  for (const app of appFields) {
    const choice = input[app];
    const id = isJsonObject(choice) ? readId(choice) : null;
    if (id !== null) resolved[app] = { id: await resolveId(id) };
  }
  return resolved;
}

function explainPartial({ failure }: ToolFailure, { id }: Change): ToolFailure {
  const next =
    `Tell the user that only part of the change was undone. To undo the rest, call ${name} with ` +
    `change_id ${id}. ${failure.next}`;
  return new ToolFailure({ ...failure, effect: "done", next });
}

/** Plans the undo of a job. The user reviews the plan before it is applied. */
async function planJobUndo({ target_id }: Change, call: ToolCall): Promise<JsonObject> {
  const { keyContext, signal } = call;
  const { bulk } = keyContext;
  const job = await bulk.findJob(target_id ?? "", keyContext);
  if (job === undefined) {
    throw refuseMissing(
      "This key has no job with this id.",
      "Use the key that started the job to undo it.",
    );
  }
  if (job.isHeld) {
    throw refuseUndo("The job is still running.", "Wait until it ends, or cancel it first.");
  }
  return { plan: await showPlan(await bulk.plan({ undo: job }, keyContext, signal), bulk) };
}

const { links, pageTemplate } = contract;
const { unpublish } = pageTemplate;

type UndoPreviewCall = Pick<ToolCall, "callApi" | "callApiFree" | "keyContext" | "apps">;

async function previewUndo(undo: PlannedUndo, call: UndoPreviewCall): Promise<Question> {
  const { change, steps, isDoubtful, notRestored } = undo;
  const previews = [];
  // An approval covers what was shown, so every step is shown.
  for (const step of steps) previews.push(await previewStep(step, undo, call));
  const losses = await Promise.all(steps.map((step) => describeLosses(step, call)));
  const [first] = previews;
  const target = change.name ?? change.target_key ?? change.target_id ?? "";
  const act = nameAct(change);
  const named = target === "" ? "" : ` ${quote(target)}`;
  const kind = findKindNamed(change.kind)?.label ?? change.kind;
  const current = steps.some(({ now }) => now === undefined)
    ? "and this API key cannot read the current state"
    : "but the current state differs from the state before it";
  const doubt = `this change may never have been made, ${current}`;
  const facts: readonly Fact[] = [
    ...(isDoubtful ? [{ name: "uncertain", text: doubt }] : []),
    ...losses.flat(),
    ...(change.note === null ? [] : [{ name: "note", text: change.note }]),
    ...[...new Set(notRestored)].map((text) => ({ name: "not restored", text })),
    ...previews.flatMap(({ title: text, facts: each }, index) => [
      { name: previews.length === 1 ? "action" : `step ${index + 1}`, text },
      ...each,
    ]),
  ];
  return {
    ...first,
    title: `Undo the ${act} of the ${kind}${named}`,
    button: `Undo ${act}`,
    facts,
  };
}

function nameAct({ tool, effects }: Change): string {
  const [verb = ""] = tool.split("_");
  const isCreation = verb === "upsert" && effects[0]?.before === null;
  return isCreation ? "creation" : (nouns[verb] ?? "change");
}

/** Nouns for changes, by the verb in the tool's name. */
const nouns: Readonly<Record<string, string>> = {
  create: "creation",
  shorten: "creation",
  register: "registration",
  delete: "deletion",
  publish: "publishing",
  unpublish: "unpublishing",
  restore: "restoration",
  undo: "undo",
};

async function describeLosses({ lost }: UndoStep, call: UndoPreviewCall): Promise<readonly Fact[]> {
  const losses = Object.entries(lost).map(async ([field, { from, to }]) => {
    const app = appFields.find((name) => field === `${name}_id`);
    const write = async (value: unknown) =>
      app === undefined ? writeValue(value) : readAppName(app, value, call);
    return {
      name: `${app ?? field}, changed since`,
      text: `${await write(from)} will be replaced by ${await write(to)}`,
      warnings: ["this was changed again after the change being undone"],
    };
  });
  return Promise.all(losses);
}

async function previewStep(
  { endpoint, input, kind, act, wanted }: StepAct,
  { template }: PlannedUndo,
  call: UndoPreviewCall,
): Promise<Question> {
  if (template !== undefined) return previewWrite(endpoint, input, template, call);
  const { create, restore } = endpointsOf[kind.name] ?? {};
  if (wanted === null || create === undefined || endpoint !== restore) return previewAct(act, call);
  // A restore request contains only an ID, so the preview shows the fields of the deleted record.
  const restored = await previewAct({ ...act, changes: writeAnew(create, wanted) }, call);
  return { ...restored, title: `Restore the ${kind.label} ${writeValue(wanted[kind.key ?? ""])}` };
}

/** Before asking for approval, throws if the API would reject one of the requests anyway. */
async function refuseInvalidUndo({ steps, template }: PlannedUndo, call: ToolCall): Promise<void> {
  for (const step of steps) {
    if (template === undefined) {
      if (step.endpoint.effect === "destroy") continue;
      await refuseInvalid(await completeStep(step, steps, call), call, name);
    } else if (step.endpoint !== unpublish) {
      await refuseUnpublishable(pickText(step.input), call);
    }
  }
}

/** Completes a step with data that only the checks before approval need. */
async function completeStep(
  { endpoint, input, now, wanted, act }: StepAct,
  steps: readonly StepAct[],
  call: ToolCall,
): Promise<Act> {
  // A restore request contains only an ID, so the checks get the whole record.
  if (now === null) return { ...act, changes: wanted ?? {} };
  if (endpoint.body !== links.create.body) return act;
  const { missing } = await settleApps(input, call);
  // If an earlier step creates the app again, the app gets a new ID. Its old ID then does not count
  // as missing.
  const isMade = (name: string) =>
    steps.some((each) => each.kind.name === name && each.now === null);
  return { ...act, missing: missing.filter(({ name }) => !isMade(name)) };
}
