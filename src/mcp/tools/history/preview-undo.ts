import type { UndoStep } from "../../../bulk/plan/undo-step.ts";
import { contract } from "../../../contract/index.ts";
import { findKindNamed } from "../../../contract/resource-kind.ts";
import type { Change } from "../../../state/history.ts";
import { quote } from "../../../text/show-hidden.ts";
import type { Fact, Question } from "../../approval/question.ts";
import { writeValue } from "../../approval/write-value.ts";
import { appFields } from "../../results/present-body.ts";
import { readAppName, settleApps } from "../apps.ts";
import type { Act } from "../endpoints/act.ts";
import { refuseInvalid } from "../endpoints/check-act.ts";
import { previewAct } from "../endpoints/preview-act.ts";
import {
  previewPublication,
  previewSaving,
  previewUnpublication,
} from "../templates/preview-publication.ts";
import { pickText, refuseUnpublishable } from "../templates/template-state.ts";
import type { Call } from "../tool.ts";
import type { StepAct, Undo } from "./plan-undo.ts";

const { links, pageTemplate } = contract;
const { publish, unpublish } = pageTemplate;
/** Deleting an app may have removed it from many links. */
const mostShown = 20;

type PreviewCall = Pick<Call, "ask" | "askFree" | "keyContext" | "apps">;

/** What a person reads before they approve an undo. */
export async function previewUndo(undo: Undo, call: PreviewCall): Promise<Question> {
  const { change, steps, isDoubtful, lacking } = undo;
  const previews = [];
  for (const step of steps.slice(0, mostShown)) previews.push(await previewStep(step, undo, call));
  const losses = await Promise.all(steps.map((step) => describeLosses(step, call)));
  const [first] = previews;
  const name = change.name ?? change.target_key ?? change.target_id ?? "";
  const act = nameAct(change);
  const named = name === "" ? "" : ` ${quote(name)}`;
  const kind = findKindNamed(change.kind)?.label ?? change.kind;
  const doubt =
    "this change may never have been made, but the current state differs from the state before it";
  const facts: readonly Fact[] = [
    ...(isDoubtful ? [{ name: "uncertain", text: doubt }] : []),
    ...losses.flat(),
    ...(change.note === null ? [] : [{ name: "note", text: change.note }]),
    ...[...new Set(lacking)].map((text) => ({ name: "not restored", text })),
    ...previews.flatMap(({ title: text, facts: each }, index) => [
      { name: previews.length === 1 ? "action" : `step ${index + 1}`, text },
      ...each,
    ]),
    ...(steps.length > mostShown
      ? [{ name: "and", text: `${steps.length - mostShown} more steps` }]
      : []),
  ];
  return {
    ...first,
    title: `Undo the ${act} of the ${kind}${named}`,
    button: `Undo ${act}`,
    facts,
  };
}

/** What is undone, in a person's words and not by its tool. */
function nameAct({ tool, effects }: Change): string {
  const [verb = ""] = tool.split("_");
  const isCreation = verb === "upsert" && effects[0]?.before === null;
  return isCreation ? "creation" : (nouns[verb] ?? "change");
}

/** By the first word of the tool's name. */
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

async function describeLosses({ lost }: UndoStep, call: PreviewCall): Promise<readonly Fact[]> {
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
  { endpoint, input, act }: StepAct,
  { template }: Undo,
  call: PreviewCall,
): Promise<Question> {
  if (template === undefined) return previewAct(act, call);
  if (endpoint === publish) return previewPublication(input, template, call);
  if (endpoint === unpublish) return previewUnpublication(template, call);
  return previewSaving(input, template);
}

/** Refuses an undo whose requests the API would refuse, before anyone is asked. */
export async function refuseInvalidUndo(
  { steps, template }: Undo,
  call: Call,
  tool: string,
): Promise<void> {
  for (const step of steps) {
    if (template === undefined) await refuseInvalid(await readAct(step, steps, call), call, tool);
    else if (step.endpoint !== unpublish) await refuseUnpublishable(pickText(step.input), call);
  }
  const endpoints = new Set(steps.map(({ endpoint }) => endpoint));
  for (const endpoint of endpoints) await call.requireBudget(endpoint);
}

async function readAct(
  { endpoint, input, now, wanted, act }: StepAct,
  steps: readonly StepAct[],
  call: Call,
): Promise<Act> {
  // A request that restores from the bin only has an id.
  if (now === null) return { ...act, changes: wanted ?? {} };
  if (endpoint.body !== links.create.body) return act;
  const { missing } = await settleApps(input, call);
  // An app that an earlier step creates again gets another id.
  const isMade = (name: string) =>
    steps.some((each) => each.kind.name === name && each.now === null);
  return { ...act, missing: missing.filter(({ name }) => !isMade(name)) };
}
