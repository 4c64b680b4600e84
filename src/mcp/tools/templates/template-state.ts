import { describeTemplateState, type WriteCondition } from "../../../contract/condition.ts";
import { readAnswer } from "../../../contract/server-answer.ts";
import { type CallAnswer, listUnreadRows } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import { isJsonObject, type JsonObject } from "../../../contract/json.ts";
import type { ReadTemplateVersion } from "../../../contract/page-template.ts";
import { refuseForeign } from "../../access/limit-destinations.ts";
import { isChanged, readIfAllowed, ToolFailure } from "../../results/tool-failure.ts";
import type { ToolCall } from "../tool.ts";

/** Reads the live version and the draft of the page template. */

export type TemplateText = { readonly body: string; readonly css: string };
export type ReadText = { readonly [Name in keyof TemplateText]?: unknown };

/** The current template, to the extent that it could be read. */
export type TemplateState = {
  /** Null if links show the default page, undefined if unknown. */
  readonly live: ReadTemplateVersion | null | undefined;
  readonly draft: TemplateText | undefined;
  readonly isAbsent: boolean;
};

export type TemplateCall = Pick<ToolCall, "callApi" | "callApiFree" | "keyContext">;

const { pageTemplate } = contract;
const nothing: TemplateState = { live: null, draft: { body: "", css: "" }, isAbsent: true };
const unknown: TemplateState = { live: undefined, draft: undefined, isAbsent: false };

export async function readState(call: TemplateCall): Promise<TemplateState> {
  const { callApi, keyContext } = call;
  try {
    // Reading the draft sends an empty save request, which could create a template. Reading the
    // versions first checks that the template exists.
    const found = await readIfAllowed(() => callApi(pageTemplate.versions, {}));
    if (found === undefined) return unknown;
    const live = await readLive(found, call).catch((error: unknown) => {
      if (isNotFound(error) || isForeignResponse(error)) return undefined;
      throw error;
    });
    return { live, draft: await readDraft(call), isAbsent: false };
  } catch (error) {
    if (isChanged(error)) return nothing;
    if (isForeignResponse(error)) return unknown;
    if (!isNotFound(error)) throw error;
    // A 404 from a remote server may mean that the endpoint, not the template, does not exist.
    const isCertain = keyContext.checksConditions || /template/i.test(readAnswer(error.message));
    return isCertain ? nothing : unknown;
  }
}

/**
 * Returns null if no version is live, and undefined if a version that could not be parsed may be
 * live.
 */
export async function readLive(
  found: CallAnswer<typeof pageTemplate.versions>,
  { callApi }: Pick<ToolCall, "callApi">,
): Promise<TemplateState["live"]> {
  const { versions } = found;
  const version = versions.find(({ live }) => live);
  if (version !== undefined) return callApi(pageTemplate.version, { id: version.id });
  const isRead =
    listUnreadRows(found).length === 0 && versions.every(({ live }) => live !== undefined);
  return isRead ? null : undefined;
}

/** Whether the server sent something other than an API response, such as an error page. */
function isForeignResponse(error: unknown): boolean {
  return error instanceof ToolFailure && error.failure.code === "bad_response";
}

export function isNotFound(error: unknown): error is ToolFailure {
  return error instanceof ToolFailure && error.failure.code === "not_found";
}

/**
 * Reads the draft with an empty save request, because no other response contains it. The
 * precondition `present` prevents the request from creating a template.
 */
async function readDraft({
  callApiFree,
  keyContext,
}: TemplateCall): Promise<TemplateText | undefined> {
  if (!keyContext.mayAsk(pageTemplate.save)) return undefined;
  const saved = await readIfAllowed(() => callApiFree(pageTemplate.save, {}, "present"));
  return saved && isText(saved) ? { body: saved.body, css: saved.css } : undefined;
}

/** Describes the template for the history, without the parts that the key cannot read. */
export function describeTemplate({ draft, live }: TemplateState): JsonObject {
  return {
    ...draft,
    ...(live === null && { live }),
    ...(live && isText(live) && { live: { body: live.body, css: live.css } }),
  };
}

export function isText(text: ReadText): text is TemplateText {
  return typeof text.body === "string" && typeof text.css === "string";
}

export function pickText({ body, css }: JsonObject): Partial<TemplateText> {
  return {
    ...(typeof body === "string" && { body }),
    ...(typeof css === "string" && { css }),
  };
}

export function describeCondition({
  live,
  draft,
  isAbsent,
}: TemplateState): WriteCondition | undefined {
  if (isAbsent) return "absent";
  if (live === undefined) return undefined;
  return { shown: describeTemplateState(draft, live?.id ?? null) };
}

/**
 * Throws if the page contains URLs on forbidden hosts, unless exactly this page is already live.
 */
export async function refuseForeignPage(
  { body }: JsonObject,
  { live }: TemplateState,
  { keyContext }: ToolCall,
): Promise<void> {
  if (body !== live?.body) refuseForeign(await keyContext.checkPage(body));
}

/** Before asking for approval, throws if the API would reject the page anyway. */
export async function refuseUnpublishable(
  text: Partial<TemplateText>,
  { callApiFree, keyContext }: ToolCall,
): Promise<void> {
  const { preview } = pageTemplate;
  if (!keyContext.mayAsk(preview)) return;
  try {
    await callApiFree(preview, text);
  } catch (error) {
    // If the preview fails for another reason, publishing may still succeed.
    if (error instanceof ToolFailure && error.failure.code !== "validation_failed") return;
    throw error;
  }
}

/** Omits the body and CSS, which are long and already known to the caller. */
export function leaveOutTexts(
  { page_template, ...rest }: JsonObject,
  change: JsonObject,
): JsonObject {
  const fields = Object.keys(change["fields"] ?? {}).map((name) => [name, "changed"]);
  return {
    ...(isJsonObject(page_template) && { page_template: dropTexts(page_template) }),
    ...rest,
    change: { ...change, fields: Object.fromEntries(fields) },
  };
}

function dropTexts({ body: _body, css: _css, live_version, ...rest }: JsonObject): JsonObject {
  const live = isJsonObject(live_version) ? dropTexts(live_version) : live_version;
  return { ...rest, ...(live !== undefined && { live_version: live }) };
}

export const platforms = ["ios", "android", "desktop"] as const;
export type PreviewPlatform = (typeof platforms)[number];

/**
 * The user agent that a preview request sends for each platform. The API renders the page for that
 * user agent.
 */
export const userAgents: Readonly<Record<PreviewPlatform, string>> = {
  ios:
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 " +
    "(KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1",
  android:
    "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) " +
    "Chrome/141.0.0.0 Mobile Safari/537.36",
  desktop:
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) " +
    "Chrome/141.0.0.0 Safari/537.36",
};
