import type { Step } from "../../../bulk/plan/undo-step.ts";
import type { ApprovalReason } from "../../../contract/approval-rules.ts";
import { pickLasting } from "../../../contract/condition.ts";
import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import { findKindNamed, type ResourceKind } from "../../../contract/resource-kind.ts";
import type { Change } from "../../../state/history.ts";
import { quote } from "../../../text/show-hidden.ts";
import type { Fact, Preview } from "../../approval/approval-request.ts";
import { writeValue } from "../../approval/write-value.ts";
import { appFields, type AppField } from "../../results/present-link.ts";
import { readAppName, settleApps } from "../apps.ts";
import { completeAct, type Act } from "../endpoints/act.ts";
import { refuseInvalid } from "../endpoints/check-act.ts";
import { previewAct } from "../endpoints/preview-act.ts";
import {
  previewPublication,
  previewSaving,
  previewUnpublication,
} from "../templates/preview-publication.ts";
import { pickText, refuseUnpublishable } from "../templates/template-state.ts";
import type { Call } from "../tool.ts";
import type { Undo } from "./plan-undo.ts";

/** Why a person has to approve of an undo, and what they read before. */

const { links, pageTemplate } = contract;
const { publish, unpublish } = pageTemplate;
/** An app's deletion has taken it away from many links. */
const mostShown = 20;

/** Each call asks as it would by itself; and so does what would lose a later change. */
export function listReasons({ steps, isDoubtful }: Undo): readonly ApprovalReason[] {
  const asked = steps.flatMap((step) => {
    const isBlind = step.now === undefined;
    const isLoss = Object.keys(step.lost).length > 0;
    const own = isTemplate(step) ? readTemplateReasons(step) : toAct(step).reasons;
    return isBlind || isLoss ? [...own, "undoes" as const] : own;
  });
  return [...new Set<ApprovalReason>([...asked, ...(isDoubtful ? ["undoes" as const] : [])])];
}

export async function previewUndo(
  undo: Undo,
  call: Pick<Call, "ask" | "askFree" | "keyContext" | "apps">,
): Promise<Preview> {
  const { change, steps, isDoubtful, lacking } = undo;
  const previews = [];
  for (const step of steps.slice(0, mostShown)) previews.push(await previewStep(step, undo, call));
  const readName = readNamesOnce(call);
  const losses = await Promise.all(steps.map((step) => describeLosses(step, readName)));
  const [first] = previews;
  const name = change.name ?? change.target_key ?? change.target_id ?? "";
  const act = nameAct(change);
  const named = name === "" ? "" : ` ${quote(name)}`;
  const title = `Undo the ${act} of the ${nameKind(change.kind)}${named}`;
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
  return { ...first, title, button: `Undo ${act}`, facts };
}

/** What it is that is undone, in a person's words and not by its tool. */
function nameAct({ tool, effects }: Change): string {
  const [verb = ""] = tool.split("_");
  const isCreation = verb === "upsert" && effects[0]?.before === null;
  return isCreation ? "creation" : (nouns[verb] ?? "change");
}

/** By the word that a tool begins with. */
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

/** What the approval is bound to: every target as it is now, and what is sent for it. */
export function describeUndoState({ steps }: Undo): unknown {
  return steps.map(({ endpoint, input, now }) => [
    endpoint.tool,
    input,
    now ? pickLasting(now) : null,
  ]);
}

/** An app is told of by its name. */
async function describeLosses({ lost }: Step, readName: ReadName): Promise<readonly Fact[]> {
  const losses = Object.entries(lost).map(async ([field, { from, to }]) => {
    const app = appFields.find((name) => field === `${name}_id`);
    const write = async (value: unknown) =>
      app === undefined ? writeValue(value) : readName(app, value);
    return {
      name: `${app ?? field}, changed since`,
      text: `${await write(from)} will be replaced by ${await write(to)}`,
      warnings: ["this was changed again after the change being undone"],
    };
  });
  return Promise.all(losses);
}

type ReadName = (app: AppField, id: unknown) => Promise<string>;

/** Many links may have lost the same app, which is read once. */
function readNamesOnce(call: Pick<Call, "ask" | "keyContext" | "apps">): ReadName {
  const names = new Map<string, Promise<string>>();
  return (app, id) => {
    const key = JSON.stringify([app, id]);
    const name = names.get(key) ?? readAppName(app, id, call);
    names.set(key, name);
    return name;
  };
}

async function previewStep(
  step: Step,
  { template }: Undo,
  call: Pick<Call, "ask" | "askFree" | "keyContext" | "apps">,
): Promise<Preview> {
  if (!isTemplate(step) || template === undefined) return previewAct(toAct(step), call);
  if (step.endpoint === publish) return previewPublication(step.input, template, call);
  if (step.endpoint === unpublish) return previewUnpublication(template, call);
  return previewSaving(step.input, template);
}

function toAct({ endpoint, input, now, id, wanted, ...step }: Step): Act {
  // The kinds of steps are those of resources.
  const kind = findKindNamed(step.kind) as ResourceKind;
  const isApp = kind.group === "apps";
  const registered = now === null && isApp ? [{ kind, fields: wanted ?? {} }] : [];
  const target = { id: now === null ? undefined : id, before: now, isFresh: step.isFresh };
  const found = { ...target, registered, beside: [], missing: [] };
  return completeAct({ endpoint, kind, given: input, input, ...found });
}

function readTemplateReasons({ endpoint }: Step): readonly ApprovalReason[] {
  return endpoint.effect === "destroy" ? ["destroys"] : [];
}

function isTemplate({ endpoint }: Step): boolean {
  return endpoint.feature === publish.feature;
}

function nameKind(name: string): string {
  return findKindNamed(name)?.label ?? name;
}

/** Refuses, before anyone is asked, an undo whose calls the API would refuse. */
export async function refuseInvalidUndo({ steps }: Undo, call: Call, tool: string): Promise<void> {
  for (const step of steps) {
    if (isTemplate(step)) await refuseText(step, call);
    else await refuseInvalid(await readAct(step, steps, call), call, tool);
  }
  const endpoints = new Set(steps.map(({ endpoint }) => endpoint));
  for (const endpoint of endpoints) await call.requireBudget(endpoint);
}

async function refuseText({ endpoint, input }: Step, call: Call): Promise<void> {
  if (endpoint === unpublish) return;
  await refuseUnpublishable(pickText(input), call);
}

async function readAct(step: Step, steps: readonly Step[], call: Call) {
  const act = toAct(step);
  // The call that brings something back from the bin has only its id.
  if (step.now === null) return { ...act, changes: step.wanted ?? {} };
  if (!writesLink(step.endpoint)) return act;
  const { missing } = await settleApps(step.input, call);
  // An app that an earlier step creates again has another id by then.
  const isMade = (kind: string) => steps.some((each) => each.kind === kind && each.now === null);
  return { ...act, missing: missing.filter(({ name }) => !isMade(name)) };
}

function writesLink(endpoint: Endpoint): boolean {
  return endpoint.body === links.create.body;
}
