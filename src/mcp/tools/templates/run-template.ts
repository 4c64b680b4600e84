import { describeTemplateState, type Condition } from "../../../contract/condition.ts";
import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract, listEndpoints } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKind } from "../../../contract/resource-kind.ts";
import { messages } from "../../../contract/messages.ts";
import { notFound } from "../../../contract/problem.ts";
import { actAsShown, requireShown } from "../../approval/act-as-shown.ts";
import type { Preview } from "../../approval/approval-request.ts";
import { uncounted, type ApprovedOverwrite } from "../../approval/approve-overwrite.ts";
import { presentBody } from "../../results/present-body.ts";
import { explainEnd, refuseArguments, ToolFailure } from "../../results/tool-failure.ts";
import type { Addition, Call } from "../tool.ts";
import {
  previewPublication,
  previewRestoration,
  previewSaving,
  previewUnpublication,
} from "./preview-publication.ts";
import { leaveOutTexts } from "./leave-out-texts.ts";
import { previewAddition } from "./preview-template.ts";
import { readVersion, versionWords } from "./read-version.ts";
import {
  describeTemplate,
  pickText,
  readState,
  type TemplateState,
  type TemplateText,
} from "./template-state.ts";

/** A call of one of the page template's tools: there is one template, and it has no id. */

const { save, publish, restore, preview, version } = contract.pageTemplate;

export const templateAdditions: readonly (readonly [Endpoint, Addition])[] = [
  ...listEndpoints()
    .filter(({ feature }) => feature === save.feature)
    .map((endpoint) => [endpoint, { run: runTemplate }] as const),
  [version, { run: runTemplate, idText: versionWords }],
  [preview, previewAddition],
];

async function runTemplate(endpoint: Endpoint, given: JsonObject, call: Call): Promise<JsonObject> {
  if (endpoint.effect !== "read") return write(endpoint, given, call);
  if (endpoint === version) return readVersion(String(given["id"]), call);
  const body: unknown = await call.ask(endpoint, given);
  return presentBody(endpoint, body as JsonObject);
}

/** Publishes, takes down, replaces or saves what was shown; where it changed, all begins anew. */
function write(endpoint: Endpoint, given: JsonObject, call: Call): Promise<JsonObject> {
  return actAsShown({
    prepare: async () => {
      const state = await readState(call);
      if (state.isAbsent && endpoint !== publish && endpoint !== save) throw refuseAbsent(endpoint);
      const input = endpoint === publish ? await settleText(given, state, call) : given;
      return { endpoint, given, input, state };
    },
    approve: (act) => requireApproval(act, call),
    carryOut: (act) => carryOut(act, call),
  });
}

async function carryOut({ endpoint, input, state }: TemplateAct, call: Call): Promise<JsonObject> {
  const { body, change } = await call.write(endpoint, input, {
    kind: findKind(endpoint),
    before: describeTemplate(state),
    condition: describeCondition(state),
  });
  // The entries of this room that write all answer with the template.
  const answered = body as unknown as JsonObject;
  return leaveOutTexts(presentBody(endpoint, answered), change);
}

type TemplateAct = {
  readonly endpoint: Endpoint;
  readonly given: JsonObject;
  readonly input: JsonObject;
  readonly state: TemplateState;
};

async function requireApproval(act: TemplateAct, call: Call): Promise<ApprovedOverwrite> {
  const { endpoint, given, input, state } = act;
  const describeRequest = async () => {
    if (endpoint === save) await refuseUnpublishable(pickText(input), call);
    const preview = await describe(endpoint, input, state, call);
    await call.requireBudget(endpoint);
    return {
      tool: endpoint.tool,
      args: given,
      target: readId(given) ?? "page_template",
      // Approved with this version and this draft; for others there has to be another approval.
      state,
      preview,
    };
  };
  if (endpoint.effect === "destroy") {
    await call.approve(await describeRequest());
    await requireShown(call.keyContext, {
      tool: endpoint.tool,
      shown: state,
      readNow: () => readState(call),
    });
    return uncounted;
  }
  return state.isAbsent ? uncounted : call.approveOverwrite(describeRequest);
}

/** What will be published, word for word: a draft that is saved meanwhile is not what was shown. */
async function settleText(
  given: JsonObject,
  { draft, isAbsent, isUnanswered }: TemplateState,
  call: Call,
): Promise<JsonObject> {
  const chosen = pickText(given);
  const text = { ...draft, ...chosen };
  if (isAbsent && Object.keys(chosen).length === 0) throw refuseAbsent(publish);
  const unread = (["body", "css"] as const).filter((field) => text[field] === undefined);
  // What nobody can read, nobody can be asked to repeat: what is left out stays as it is.
  if (unread.length > 0 && isUnanswered !== true) {
    const message = `${describeLack(call)}, so you must pass the text to publish`;
    throw refuseArguments(
      publish.tool,
      unread.map((field) => ({ field, message })),
    );
  }
  await refuseUnpublishable(text, call);
  return { ...given, ...text };
}

/** Why the draft is unknown: it is only read with the tool that saves it. */
function describeLack({ keyContext }: Call): string {
  const isRight = keyContext.mayAsk(save) || keyContext.access.read(save).state === "denied";
  return isRight
    ? "this API key cannot read the draft"
    : `WAYPOST_TOOLS leaves out ${save.tool}, which reads the draft`;
}

function refuseAbsent(endpoint: Endpoint): unknown {
  return explainEnd({ tool: endpoint.tool, endpoint }, notFound(messages.template_not_found));
}

export function describeCondition({ live, draft, isAbsent }: TemplateState): Condition | undefined {
  if (isAbsent) return "absent";
  // Of what the key may not read at all nothing was shown.
  if (live === undefined) return undefined;
  return { shown: describeTemplateState(draft, live?.id ?? null) };
}

/** What the API would refuse afterwards is refused before a person is asked. */
export async function refuseUnpublishable(
  text: Partial<TemplateText>,
  { askFree, keyContext, signal }: Call,
): Promise<void> {
  await keyContext.refuseForeign(publish, text, signal);
  if (!keyContext.mayAsk(preview)) return;
  try {
    await askFree(preview, text);
  } catch (error) {
    // If the preview fails for another reason, the publication may still succeed.
    if (error instanceof ToolFailure && error.failure.code !== "validation_failed") return;
    throw error;
  }
}

function describe(
  endpoint: Endpoint,
  given: JsonObject,
  state: TemplateState,
  call: Call,
): Promise<Preview> {
  switch (endpoint) {
    case publish:
      return previewPublication(given, state, call);
    case restore:
      return previewRestoration(readId(given) ?? "", state, call);
    case save:
      return Promise.resolve(previewSaving(given, state));
    default:
      return previewUnpublication(state, call);
  }
}

function readId({ id }: JsonObject): string | undefined {
  return typeof id === "string" ? id : undefined;
}
