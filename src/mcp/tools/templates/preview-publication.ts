import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { sayLocalTime } from "../../../contract/local-time.ts";
import { parseTime } from "../../../contract/parse-time.ts";
import { compareLines, type Change } from "../../../text/compare-lines.ts";
import { quote } from "../../../text/show-hidden.ts";
import type { Fact, Frames, Preview } from "../../approval/approval-request.ts";
import { readIfAllowed, ToolFailure } from "../../results/tool-failure.ts";
import { describeHiding, findHidingOfOwn } from "./find-hiding.ts";
import {
  isText,
  pickText,
  type Asking,
  type ReadText,
  type TemplateState,
  type TemplateText,
} from "./template-state.ts";
import { userAgents } from "./user-agents.ts";

/** What a person reads before the page of all links changes, or the draft is replaced. */

const { pageTemplate, links } = contract;
/** Where more places change than a person compares, the new text is shown as a whole. */
const mostPlaces = 100;
/** An approval keeps what it shows, so that this is bounded. */
const mostFrameCharacters = 200_000;

export async function previewPublication(
  given: JsonObject,
  { live, draft }: TemplateState,
  call: Asking,
): Promise<Preview> {
  const after = { ...draft, ...pickText(given) };
  const changes = describeChanges(live, after);
  const hiding = await findHidingOfOwn(after, call);
  const problems = hiding.map((problem) => ({ name: "problem", text: describeHiding(problem) }));
  return {
    title: "Show this page on all links of the project",
    button: "Publish page",
    facts: [
      await countLinks(call),
      { name: "live now", text: describeLive(live, call) },
      ...problems,
      ...changes,
    ],
    frames: await drawFrames({ "Live now": live, "As it will be": after }, call),
  };
}

export async function previewUnpublication(
  { live }: TemplateState,
  call: Asking,
): Promise<Preview> {
  return {
    title: "Take the project's page down: all links show their default page",
    button: "Take page down",
    destroys: true,
    facts: [await countLinks(call), { name: "live now", text: describeLive(live, call) }],
    frames: await drawFrames({ "Live now": live }, call),
  };
}

export function previewSaving(given: JsonObject, { draft }: TemplateState): Preview {
  const changes = describeChanges(draft, { ...draft, ...pickText(given) });
  return { title: "Replace the draft of the links' page", button: "Save draft", facts: changes };
}

export async function previewRestoration(
  id: string,
  { draft }: TemplateState,
  call: Asking,
): Promise<Preview> {
  const { ask } = call;
  const version = await readIfAllowed(() => ask(pageTemplate.version, { id }));
  return {
    title: "Replace the draft of the page with an older version",
    button: "Replace draft",
    destroys: true,
    facts: [
      { name: "version", text: version === undefined ? quote(id) : describeLive(version, call) },
      { name: "links", text: "none changes: nothing is published" },
      ...describeChanges(draft, pickText(version ?? {})),
    ],
    frames: await drawFrames({ "The draft now": draft, "As it will be": version }, call),
  };
}

const orHidden = "or this deployment does not show it";

function describeLive(live: TemplateState["live"], { keyContext }: Asking): string {
  if (live === undefined) return `this API key may not read it, ${orHidden}`;
  if (live === null) return "nothing: links show their default page";
  const { published_at } = live;
  if (typeof published_at !== "string") return "a version; when it was published is not known";
  const at = parseTime(published_at);
  // A deployment elsewhere may call anything a time.
  const time = at === null ? quote(published_at) : sayLocalTime(at, keyContext.timeZone);
  return `the version that was published on ${time}`;
}

/** The lines that go and come, of both texts; where nothing is live, all of them come. */
export function describeChanges(
  before: ReadText | null | undefined,
  after: Partial<TemplateText>,
): readonly Fact[] {
  return (["body", "css"] as const).flatMap((field) => {
    const text = after[field];
    if (text === undefined) {
      return [
        {
          name: field,
          text: "the draft's, which this API key may not read, or this deployment does not show",
        },
      ];
    }
    const { [field]: old } = pickText({ ...before });
    const changes = compareLines(old ?? "", text);
    if (old !== undefined && changes.length === 0) return [{ name: field, text: "stays as it is" }];
    const places = groupLines(changes);
    if (places.length <= mostPlaces) return places.map((place) => describePlace(field, place));
    const whole = groupLines(compareLines("", text));
    return whole.map((place) => describePlace(`${field}, as it will be`, place));
  });
}

/** What stands together is one place: lines that go, and those that come for them. */
function groupLines(changes: readonly Change[]): readonly (readonly Change[])[] {
  const places: Change[][] = [];
  for (const change of changes) {
    const last = places.at(-1)?.at(-1);
    const step = change.line - (last?.line ?? 0);
    const isNext = last !== undefined && (step === 1 || (step === 0 && last.kind !== change.kind));
    if (isNext) places.at(-1)?.push(change);
    else places.push([change]);
  }
  return places;
}

/** The lines that go stand before those that come. */
function describePlace(field: string, place: readonly Change[]): Fact {
  const lines = (["removed", "added"] as const).flatMap((kind) =>
    place.flatMap((line) => (line.kind === kind ? [{ kind, text: line.text }] : [])),
  );
  return { name: `${field}, line ${place[0]?.line}`, kind: "lines", lines };
}

/** How the page looks with each text that there is and that is known, on each device. */
async function drawFrames(
  texts: Readonly<Record<string, ReadText | null | undefined>>,
  { askFree, keyContext }: Asking,
): Promise<Frames> {
  if (!keyContext.mayAsk(pageTemplate.preview)) {
    return { left_out: "This API key may not ask for previews of the page." };
  }
  const drawn = Object.entries(texts).flatMap(([name, text]) => {
    if (!text || !isText(text)) return [];
    const { body, css } = text;
    return [{ name, text: { body, css } }];
  });
  try {
    const pages = await Promise.all(
      drawn.map(async ({ name, text }) => {
        const draw = (user_agent: string) => askFree(pageTemplate.preview, { ...text, user_agent });
        const [phone, desktop] = await Promise.all([
          draw(userAgents.ios),
          draw(userAgents.desktop),
        ]);
        return { name, phone, desktop };
      }),
    );
    if (pages.length === 0) return { left_out: "This API key may not read the page." };
    const isLong = pages.some(
      ({ phone, desktop }) => Math.max(phone.length, desktop.length) > mostFrameCharacters,
    );
    return isLong ? { left_out: "The page is too long to be shown here." } : { pages };
  } catch (error) {
    if (!(error instanceof ToolFailure)) throw error;
    return { left_out: "This deployment could not show the page." };
  }
}

async function countLinks({ ask }: Asking): Promise<Fact> {
  // A person can decide without the number.
  const page = await ask(links.index, { limit: 1 }).catch((error: unknown) => {
    if (error instanceof ToolFailure) return undefined;
    throw error;
  });
  const count = page?.meta.count ?? "all; they could not be counted";
  return { name: "links that change", text: String(count) };
}
