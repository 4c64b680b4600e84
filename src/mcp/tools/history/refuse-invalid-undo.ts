import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import { refuseInvalid } from "../endpoints/check-act.ts";
import { settleApps } from "../apps.ts";
import { pickText, refuseUnpublishable } from "../templates/template-state.ts";
import type { Call } from "../tool.ts";
import type { Step } from "../../../bulk/plan/undo-step.ts";
import type { Undo } from "./plan-undo.ts";
import { isTemplate, toAct } from "./preview-undo.ts";

const { links, pageTemplate } = contract;

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
  if (endpoint === pageTemplate.unpublish) return;
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
