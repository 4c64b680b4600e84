import * as z from "zod";
import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract, listEndpoints } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { messages } from "../../../contract/messages.ts";
import { notFound } from "../../../contract/problem.ts";
import { describeIds, findKind } from "../../../contract/resource-kind.ts";
import { writeFactText } from "../../approval/question-text.ts";
import { previewPath } from "../../previews/preview-pages.ts";
import type { CallProblem } from "../../results/call-problem.ts";
import { presentBody } from "../../results/present-body.ts";
import {
  explainEnd,
  isChanged,
  readIfPossible,
  refuseArguments,
  ToolFailure,
} from "../../results/tool-failure.ts";
import { actAsShown } from "../endpoints/run-endpoint.ts";
import { journalWrite } from "../history/journal.ts";
import type { EndpointAddition, ToolCall } from "../tool.ts";
import { describeChanges, findVisibleTexts, previewWrite } from "./preview-publication.ts";
import {
  describeCondition,
  describeTemplate,
  isNotFound,
  leaveOutTexts,
  pickText,
  platforms,
  readLive,
  readState,
  refuseForeignPage,
  refuseUnpublishable,
  userAgents,
  type PreviewPlatform,
  type TemplateState,
} from "./template-state.ts";

/** Extends the endpoint tools that read, change and preview the page template. */

const { save, publish, preview, version, versions } = contract.pageTemplate;

const linkIds = describeIds(findKind(contract.links.show));
const [usual] = platforms;

/**
 * The protocol extension for views: HTML that some clients show in a frame (MCP Apps, SEP-1865).
 */
export const viewExtension = "io.modelcontextprotocol/ui";
export const viewType = "text/html;profile=mcp-app";
/** The property of `_meta` that only views read. */
export const viewData = "waypost/view";

export const templateView = {
  uri: "ui://waypost/page-template",
  name: "page_template_view",
  title: "Preview page",
  description: "Shows a page template on iOS, Android and desktop.",
  mimeType: viewType,
} as const;

/** Adds a URL where a user can look at the page, because a model cannot see it. */
const previewAddition: EndpointAddition = {
  fields: {
    link_id: z.string().optional().describe(linkIds),
    platform: z.enum(platforms).meta({ default: usual }).optional(),
    html: z.boolean().optional(),
  },
  result: { preview_url: z.string().optional(), html: z.string().optional() },
  run: (_, given, call) => previewTemplate(given, call),
  view: templateView.uri,
};

export const templateAdditions: readonly (readonly [Endpoint, EndpointAddition])[] = [
  ...listEndpoints()
    .filter(({ feature, effect }) => feature === save.feature && effect !== "read")
    .map((endpoint) => [endpoint, { run: writeTemplate }] as const),
  [version, { run: readVersion, idText: "UUID, draft, live or starter" }],
  [preview, previewAddition],
];

/**
 * Saves, publishes, unpublishes or restores the template, only if it is unchanged since it was
 * shown.
 */
function writeTemplate(endpoint: Endpoint, given: JsonObject, call: ToolCall): Promise<JsonObject> {
  return actAsShown(async () => {
    const state = await readState(call);
    if (state.isAbsent && endpoint !== publish && endpoint !== save) throw refuseAbsent(endpoint);
    const input = endpoint === publish ? chooseText(given, state, call) : given;
    if (endpoint.body !== undefined) await refuseForeignPage(input, state, call);
    const approval = state.isAbsent ? "never" : "after_many";
    const { id: target = "page_template" } = given as { readonly id?: string };
    return {
      tool: endpoint.tool,
      args: given,
      target,
      // The approval covers only this live version and this draft.
      state,
      readState: () => readState(call),
      endpoints: [endpoint],
      approval: endpoint.effect === "destroy" ? "always" : approval,
      describe: async () => {
        if (endpoint.body !== undefined) await refuseUnpublishable(pickText(input), call);
        return previewWrite(endpoint, input, state, call);
      },
      carryOut: () => carryOut(endpoint, input, state, call),
    };
  }, call);
}

/** Returns the exact text to publish, so that a draft saved after the question is not published. */
function chooseText(
  given: JsonObject,
  { draft, isAbsent }: TemplateState,
  call: ToolCall,
): JsonObject {
  const chosen = pickText(given);
  const text = { ...draft, ...chosen };
  if (isAbsent && Object.keys(chosen).length === 0) throw refuseAbsent(publish);
  const unread = (["body", "css"] as const).filter((field) => text[field] === undefined);
  if (unread.length > 0) {
    const why = isSaveOffered(call)
      ? "this API key cannot read the draft"
      : `WAYPOST_TOOLS leaves out ${save.tool}, which reads the draft`;
    const message = `${why}, so you must pass the text to publish`;
    throw refuseArguments(
      publish.tool,
      unread.map((field) => ({ field, message })),
    );
  }
  return { ...given, ...text };
}

/**
 * Whether the operator offers the tool that saves the draft. The draft can be read only by saving
 * it.
 */
function isSaveOffered({ keyContext }: ToolCall): boolean {
  return keyContext.mayAsk(save) || keyContext.access.read(save).state === "denied";
}

function refuseAbsent(endpoint: Endpoint): unknown {
  return explainEnd({ tool: endpoint.tool, endpoint }, notFound(messages.template_not_found));
}

async function carryOut(
  endpoint: Endpoint,
  input: JsonObject,
  state: TemplateState,
  call: ToolCall,
): Promise<JsonObject> {
  const known = {
    kind: findKind(endpoint),
    before: describeTemplate(state),
    condition: describeCondition(state),
  };
  const { body, change } = await journalWrite(endpoint, input, known, call);
  return leaveOutTexts(presentBody(endpoint, body), change);
}

/** Reads a version of the template by its id, or by a name such as `draft`. */
async function readVersion(
  endpoint: Endpoint,
  { id }: JsonObject,
  call: ToolCall,
): Promise<JsonObject> {
  const text = await readText(String(id), call);
  // It is unknown what a remote server shows for an empty body.
  const note = call.keyContext.checksConditions ? describeEmptyText(text) : undefined;
  return presentBody(endpoint, { ...text, ...(note !== undefined && { note }) });
}

async function readText(id: string, call: ToolCall): Promise<object> {
  switch (id) {
    case "draft":
      return { id, ...(await adviseStarterIfMissing(askDraft(call), call)) };
    case "live":
      return adviseStarterIfMissing(askLive(call), call);
    case "starter":
      return { id, ...(await readStarter(call)) };
    default:
      return call.callApi(version, { id });
  }
}

/** Explains that an empty body does not produce an empty page. */
function describeEmptyText({ body, css }: { readonly body?: unknown; readonly css?: unknown }) {
  if (body !== "") return undefined;
  return css === ""
    ? "The text is empty, so previews show the starter: read it with id starter."
    : "Without a body, the page is the starter with this css added: read it with id starter.";
}

/** If the template does not exist, advises reading the starter template of the embedded service. */
async function adviseStarterIfMissing<Text>(
  reading: Promise<Text>,
  { keyContext }: ToolCall,
): Promise<Text> {
  return reading.catch((error: unknown) => {
    if (!keyContext.checksConditions || !isNotFound(error)) throw error;
    const next = "Links show the default page: read it with id starter.";
    throw new ToolFailure({ ...error.failure, next });
  });
}

/** Reads the draft. Unlike `readState`, throws if the draft cannot be read. */
async function askDraft(call: ToolCall) {
  if (!isSaveOffered(call)) throw refuseDraft();
  await call.callApi(versions, {});
  try {
    const { body, css } = await call.callApiFree(save, {}, "present");
    return { body, css };
  } catch (error) {
    throw isChanged(error) ? refuseAbsent(version) : error;
  }
}

async function askLive(call: ToolCall) {
  const live = await readLive(await call.callApi(versions, {}), call);
  if (live) return live;
  const nothing = notFound(messages.template_version_not_found);
  throw explainEnd({ tool: version.tool, endpoint: version }, nothing);
}

async function readStarter({ keyContext }: ToolCall) {
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

async function previewTemplate(given: JsonObject, call: ToolCall): Promise<JsonObject> {
  const { html: isAsked, platform = usual, ...asked } = given;
  const device = platform as PreviewPlatform;
  const body: unknown = await call.callApi(preview, { ...asked, user_agent: userAgents[device] });
  // The schema of this endpoint guarantees these properties.
  const { html, ...unread } = presentBody(preview, body as JsonObject) as RenderedPage;
  if (call.showsViews) call.extras.views.push(await drawView(asked, device, html, call));
  const preview_url = await openInBrowser(html, call);
  return {
    ...(preview_url !== undefined && { preview_url }),
    ...((isAsked === true || preview_url === undefined) && { html }),
    ...unread,
  };
}

type RenderedPage = { readonly html: string; readonly problems?: readonly CallProblem[] };

/**
 * Saves the page and returns its URL. Returns undefined if no server is running to serve the page,
 * or if the page is too long.
 */
async function openInBrowser(html: string, { keyContext }: ToolCall): Promise<string | undefined> {
  const origin = (await keyContext.readListening())?.url;
  if (origin === undefined) return undefined;
  const previews = await keyContext.openPreviews();
  const token = await previews.save(keyContext.key_print, html);
  return token === undefined ? undefined : origin + previewPath + token;
}

async function drawView(
  asked: JsonObject,
  device: PreviewPlatform,
  html: string,
  call: ToolCall,
): Promise<JsonObject> {
  const others = platforms.filter((platform) => platform !== device);
  const [changes, ...drawn] = await Promise.all([
    readIfPossible(compareWithLive(asked, call)),
    ...others.map((platform) =>
      readIfPossible(call.callApiFree(preview, { ...asked, user_agent: userAgents[platform] })),
    ),
  ]);
  const pages = others.map((platform, index) => [platform, drawn[index]]);
  return { device, pages: { ...Object.fromEntries(pages), [device]: html }, changes };
}

type ShownChange = { readonly name: string; readonly text: string };

async function compareWithLive(given: JsonObject, call: ToolCall): Promise<readonly ShownChange[]> {
  const { live, draft } = await readState(call);
  const seen = await findVisibleTexts(live, { ...draft, ...pickText(given) }, call);
  return describeChanges(seen.now, seen.next).map((fact) => {
    return { name: fact.name, text: writeFactText(fact) };
  });
}
