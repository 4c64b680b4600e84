import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { sayLocalTime, parseTime } from "../../../contract/local-time.ts";
import { diffLines } from "../../../text/differences.ts";
import { quote } from "../../../text/show-hidden.ts";
import type { Fact, Frames, Question } from "../../approval/question.ts";
import { readIfAllowed, readIfPossible } from "../../results/tool-failure.ts";
import type { ToolCall } from "../tool.ts";
import {
  isText,
  pickText,
  userAgents,
  type TemplateCall,
  type ReadText,
  type TemplateState,
  type TemplateText,
} from "./template-state.ts";

/** Writes the approval questions for changes to the page template. */

const { pageTemplate, links } = contract;
const now = "Now";
const then = "After approval";
/** Rendered pages are stored with the approval, so their length is limited. */
const mostFrameCharacters = 200_000;

export async function previewWrite(
  endpoint: Endpoint,
  input: JsonObject,
  state: TemplateState,
  call: TemplateCall,
): Promise<Question> {
  switch (endpoint) {
    case pageTemplate.publish:
      return previewPublication(input, state, call);
    case pageTemplate.restore:
      return previewRestoration(String(input["id"]), state, call);
    case pageTemplate.save:
      return previewSaving(input, state);
    default:
      return previewUnpublication(state, call);
  }
}

async function previewPublication(
  given: JsonObject,
  { live, draft }: TemplateState,
  call: TemplateCall,
): Promise<Question> {
  const after = { ...draft, ...pickText(given) };
  const seen = await findVisibleTexts(live, after, call);
  const changes = describeChanges(seen.now, seen.next);
  return {
    title: "Publish this page for all links in the project",
    button: "Publish page",
    facts: [
      await countLinks(call),
      { name: "published now", text: describeLive(live, call) },
      ...changes,
    ],
    frames: await drawFrames({ [now]: seen.now, [then]: after }, call),
  };
}

async function previewUnpublication(
  { live }: TemplateState,
  call: TemplateCall,
): Promise<Question> {
  const seen = await findVisibleTexts(null, {}, call);
  return {
    title: "Unpublish the project's page: all links will show the default page",
    button: "Unpublish page",
    destroys: true,
    facts: [await countLinks(call), { name: "published now", text: describeLive(live, call) }],
    frames: await drawFrames({ [now]: live, [then]: seen.now }, call),
  };
}

function previewSaving(given: JsonObject, { draft }: TemplateState): Question {
  const changes = describeChanges(draft, { ...draft, ...pickText(given) });
  return { title: "Save a new draft of the page template", button: "Save draft", facts: changes };
}

async function previewRestoration(
  id: string,
  { draft }: TemplateState,
  call: TemplateCall,
): Promise<Question> {
  const { callApi } = call;
  const version = await readIfAllowed(() => callApi(pageTemplate.version, { id }));
  return {
    title: "Restore an older version of the page as the draft",
    button: "Restore version",
    destroys: true,
    facts: [
      { name: "version", text: version === undefined ? quote(id) : describeLive(version, call) },
      { name: "links", text: "Unchanged, because nothing is published." },
      ...describeChanges(draft, pickText(version ?? {})),
    ],
    frames: await drawFrames({ "Draft now": draft, [then]: version }, call),
  };
}

const unreadable = "Unknown. This API key cannot read it, or the server does not return it.";

function describeLive(live: TemplateState["live"], { keyContext }: TemplateCall): string {
  if (live === undefined) return unreadable;
  if (live === null) return "Nothing is published. Links show the default page.";
  const { published_at } = live;
  if (typeof published_at !== "string") return "A version is published, but its date is unknown.";
  const at = parseTime(published_at);
  // A remote server may return any text instead of a time.
  const time = at === null ? quote(published_at) : sayLocalTime(at, keyContext.timeZone);
  return `This version was published on ${time}.`;
}

/**
 * Compares the old and the new body and CSS line by line. If an old text is unknown, every line
 * counts as new.
 */
export function describeChanges(
  before: ReadText | null | undefined,
  after: Partial<TemplateText>,
): readonly Fact[] {
  return (["body", "css"] as const).map((name): Fact => {
    const text = after[name];
    if (text === undefined) {
      return { name, text: "Taken from the current draft, which could not be read." };
    }
    const { [name]: old = "" } = pickText({ ...before });
    const hunks = diffLines(old, text);
    return hunks.length === 0 ? { name, text: "Unchanged." } : { name, kind: "diff", hunks };
  });
}

export type VisibleTexts = {
  readonly now: ReadText | null | undefined;
  readonly next: Partial<TemplateText>;
};

/**
 * Returns the texts that visitors see. The embedded service shows its starter template if nothing
 * is published or the body is empty.
 */
export async function findVisibleTexts(
  live: TemplateState["live"],
  after: Partial<TemplateText>,
  { keyContext }: Pick<ToolCall, "keyContext">,
): Promise<VisibleTexts> {
  if (!keyContext.checksConditions) return { now: live, next: after };
  const { fillBody } = await import("../../../template/link-page.ts");
  const fill = (text: ReadText) => (isText(text) ? fillBody(text) : text);
  const now = live === null ? fillBody({ body: "", css: "" }) : live && fill(live);
  return { now, next: pickText({ ...fill(after) }) };
}

async function drawFrames(
  texts: Readonly<Record<string, ReadText | null | undefined>>,
  { callApiFree, keyContext }: TemplateCall,
): Promise<Frames> {
  if (!keyContext.mayAsk(pageTemplate.preview)) {
    return { left_out: "This API key cannot create previews of the page." };
  }
  const drawing = Object.entries(texts).flatMap(([name, text]) =>
    text && isText(text) ? [drawFrame(name, text, callApiFree)] : [],
  );
  const pages = await readIfPossible(Promise.all(drawing));
  if (pages === undefined) return { left_out: "The server could not render the page." };
  if (pages.length === 0) return { left_out: "This API key cannot read the page." };
  const isLong = pages.some(
    ({ phone, desktop }) => Math.max(phone.length, desktop.length) > mostFrameCharacters,
  );
  return isLong ? { left_out: "The page is too long to show here." } : { pages };
}

async function drawFrame(
  name: string,
  { body, css }: TemplateText,
  callApiFree: TemplateCall["callApiFree"],
) {
  const draw = (user_agent: string) => callApiFree(pageTemplate.preview, { body, css, user_agent });
  const [phone, desktop] = await Promise.all([draw(userAgents.ios), draw(userAgents.desktop)]);
  return { name, phone, desktop };
}

async function countLinks({ callApi }: TemplateCall): Promise<Fact> {
  const page = await readIfPossible(callApi(links.index, { limit: 1 }));
  const count = page?.meta.count ?? "All links in the project. They could not be counted.";
  return { name: "affected links", text: String(count) };
}
