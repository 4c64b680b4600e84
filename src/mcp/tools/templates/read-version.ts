import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { messages } from "../../../contract/messages.ts";
import { notFound } from "../../../contract/problem.ts";
import { presentBody } from "../../results/present-body.ts";
import { explainEnd, isChanged, refuseArguments, ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { isNotFound } from "./template-state.ts";

/** A text of the links' page: a published version by its id, or one that a word names. */

const { version, versions, save } = contract.pageTemplate;

/** What `get_template_version` takes as an id beside those of versions. */
export const versionWords = "UUID, draft, live or starter";

export async function readVersion(id: string, call: Call): Promise<JsonObject> {
  switch (id) {
    case "draft":
      return present({ id, ...(await leadToStarter(() => readDraft(call), call)) }, call);
    case "live":
      return present(await leadToStarter(() => readLive(call), call), call);
    case "starter":
      return present({ id, ...(await readStarter(call)) }, call);
    default:
      return present(await call.ask(version, { id }), call);
  }
}

/** Whatever it was read from is an object. */
function present(text: object, { keyContext }: Call): JsonObject {
  // Of another deployment nobody knows what it shows without a body.
  const note = keyContext.checksConditions ? describeLack(text) : undefined;
  return presentBody(version, { ...text, ...(note !== undefined && { note }) });
}

/** An empty body is left out, and the page is not empty. */
function describeLack({ body, css }: { readonly body?: unknown; readonly css?: unknown }) {
  if (body !== "") return undefined;
  return css === ""
    ? "The text is empty, so previews show the starter: read it with id starter."
    : "Without a body, the page is the starter with this css added: read it with id starter.";
}

/** What a project without a template of its own shows is known of our own service alone. */
async function leadToStarter<Text>(read: () => Promise<Text>, { keyContext }: Call) {
  try {
    return await read();
  } catch (error) {
    if (!keyContext.checksConditions || !isNotFound(error)) throw error;
    const next = "Links show the default page: read it with id starter.";
    throw new ToolFailure({ ...error.failure, next });
  }
}

/** The API shows the draft only in the answer to a save, and to save nothing changes nothing. */
async function readDraft({ ask, askFree, keyContext }: Call) {
  const isOffered = keyContext.mayAsk(save) || keyContext.access.read(save).state === "denied";
  if (!isOffered) throw refuseDraft();
  // A remote server may not find this without a template, and its draft is then not read: an empty
  // save would be its first one.
  await ask(versions, {});
  try {
    const { body, css } = await askFree(save, {}, "present");
    return { body, css };
  } catch (error) {
    if (!isChanged(error)) throw error;
    throw explainEnd(
      { tool: version.tool, endpoint: version },
      notFound(messages.template_not_found),
    );
  }
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
  const message = "the starter template of a remote server is unknown";
  throw refuseArguments(version.tool, [{ field: "id", message }]);
}

function refuseDraft(): ToolFailure {
  return new ToolFailure({
    code: "scope_missing",
    message: "Reading the draft needs save_template, which is not available here.",
    effect: "none",
    retry: "never",
    next: "Tell the user, or pass the id `live` to read what visitors see.",
  });
}
