import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { messages } from "../../../contract/messages.ts";
import { notFound } from "../../../contract/problem.ts";
import { presentBody } from "../../results/present-body.ts";
import { explainEnd, refuseArguments, ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";

/** A text of the links' page: a published version by its id, or one that a word names. */

const { version, versions, save } = contract.pageTemplate;

/** What `get_template_version` takes as an id beside those of versions. */
export const versionWords = "UUID, draft, live or starter";

export async function readVersion(id: string, call: Call): Promise<JsonObject> {
  switch (id) {
    case "draft":
      return present({ id, ...(await readDraft(call)) });
    case "live":
      return present(await readLive(call));
    case "starter":
      return present({ id, ...(await readStarter(call)) });
    default:
      return present(await call.ask(version, { id }));
  }
}

/** Whatever it was read from is an object. */
function present(body: object): JsonObject {
  return presentBody(version, body as JsonObject);
}

/** The API shows the draft only in the answer to a save, and to save nothing changes nothing. */
async function readDraft({ ask, keyContext }: Call) {
  const isOffered = keyContext.mayAsk(save) || keyContext.access.read(save).state === "denied";
  if (!isOffered) throw refuseDraft();
  // Where there is no template yet, that would be its first save: then this is not found.
  await ask(versions, {});
  const { body, css } = await ask(save, {});
  return { body, css };
}

async function readLive({ ask }: Call) {
  const found = await ask(versions, {});
  const live = found.versions.find((one) => one.live);
  if (live !== undefined) return ask(version, { id: live.id });
  const nothing = notFound(messages.template_version_not_found);
  throw explainEnd({ tool: version.tool, endpoint: version }, nothing);
}

async function readStarter({ keyContext }: Call) {
  if (keyContext.checksConditions) {
    const { starter } = await import("../../../template/starter-template.ts");
    return starter;
  }
  const message = "of a deployment elsewhere nobody knows the starter template";
  throw refuseArguments(version.tool, [{ field: "id", message }]);
}

function refuseDraft(): ToolFailure {
  return new ToolFailure({
    code: "scope_missing",
    message: `This server does not offer ${save.tool}, with which alone a draft can be read.`,
    effect: "none",
    retry: "never",
    next: "Tell the user, or read what visitors see: the id live.",
  });
}
