import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { faultOf, validationFailed } from "../../../contract/problem.ts";
import { isBlank } from "../../../contract/text.ts";
import type { Preview } from "../../approval/approval-request.ts";
import { presentBody } from "../../results/present-body.ts";
import { explainEnd, ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { attachTemplateView } from "./attach-view.ts";
import {
  pickText,
  previewPublication,
  previewRestoration,
  previewUnpublication,
  readState,
  readStateOrNone,
  type TemplateState,
  type TemplateText,
} from "./preview-publication.ts";

/** A call of one of the page template's tools: there is one template, and it has no id. */

const { publish, unpublish, restore, preview } = contract.pageTemplate;

export async function runTemplate(
  endpoint: Endpoint,
  args: JsonObject,
  call: Call,
): Promise<JsonObject> {
  const { approval: _, ...given } = args;
  if (endpoint.effect === "destroy") await approve(endpoint, given, call);
  const body: unknown = await call.ask(endpoint, given);
  const result = presentBody(endpoint, body as JsonObject, undefined);
  if (endpoint === preview) await attachTemplateView(given, result, call);
  return result;
}

async function approve(endpoint: Endpoint, given: JsonObject, call: Call): Promise<void> {
  const text = pickText(given);
  const hasBody = endpoint === publish && text.body !== undefined;
  const replaces = hasBody && text.css !== undefined;
  const read = hasBody ? readStateOrNone : readState;
  const state = await read(call, endpoint !== unpublish && !replaces);
  if (endpoint === publish) await refuseUnpublishable({ ...state.draft, ...text }, call);
  await call.approve({
    tool: endpoint.tool,
    args: given,
    target: readId(given) ?? "page_template",
    // Approved with this version and this draft; for others there has to be another approval.
    state,
    preview: await describe(endpoint, given, state, call),
  });
}

/** What the API would refuse afterwards is refused before a person is asked. */
async function refuseUnpublishable(
  text: Partial<TemplateText>,
  { ask, keyContext }: Call,
): Promise<void> {
  if (text.body !== undefined && isBlank(text.body)) {
    const problem = validationFailed([faultOf("body", "can't be blank")]);
    throw explainEnd({ tool: publish.tool, endpoint: publish }, problem);
  }
  if (!keyContext.mayAsk(preview)) return;
  try {
    await ask(preview, text);
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
    default:
      return previewUnpublication(state, call);
  }
}

function readId({ id }: JsonObject): string | undefined {
  return typeof id === "string" ? id : undefined;
}
