import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { faultOf, validationFailed } from "../../../contract/problem.ts";
import { isBlank } from "../../../contract/text.ts";
import type { Preview } from "../../approval/approval-request.ts";
import { presentBody } from "../../results/present-body.ts";
import { explainEnd, ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import {
  pickText,
  previewPublication,
  previewRestoration,
  previewUnpublication,
  readKnown,
  readKnownOrNone,
  type Known,
  type TemplateText,
} from "./preview-publication.ts";
import { showTemplate } from "./show-view.ts";

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
  if (endpoint === preview) await showTemplate(given, result, call);
  return result;
}

async function approve(endpoint: Endpoint, given: JsonObject, call: Call): Promise<void> {
  const text = pickText(given);
  const hasBody = endpoint === publish && text.body !== undefined;
  const replaces = hasBody && text.css !== undefined;
  const read = hasBody ? readKnownOrNone : readKnown;
  const known = await read(call, endpoint !== unpublish && !replaces);
  if (endpoint === publish) await refuseUnsound({ ...known.draft, ...text }, call);
  await call.approve({
    tool: endpoint.tool,
    args: given,
    target: readId(given) ?? "page_template",
    // Another version or another draft by then would be another act.
    state: known,
    preview: await describe(endpoint, given, known, call),
  });
}

/** What would be refused afterwards is refused before a person is asked. */
async function refuseUnsound(
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
    // Whatever else keeps the page from being tried out, its publication may still succeed.
    if (error instanceof ToolFailure && error.failure.code !== "validation_failed") return;
    throw error;
  }
}

function describe(
  endpoint: Endpoint,
  given: JsonObject,
  known: Known,
  call: Call,
): Promise<Preview> {
  switch (endpoint) {
    case publish:
      return previewPublication(given, known, call);
    case restore:
      return previewRestoration(readId(given) ?? "", known, call);
    default:
      return previewUnpublication(known, call);
  }
}

function readId({ id }: JsonObject): string | undefined {
  return typeof id === "string" ? id : undefined;
}
