import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { compareLines, type Change } from "../../../text/compare-lines.ts";
import { quote } from "../../../text/show-hidden.ts";
import type { Fact, Preview } from "../../approval/approval-request.ts";
import { readIfAllowed } from "../../results/tool-failure.ts";
import { pickText, type Asking, type TemplateState, type TemplateText } from "./template-state.ts";

/** What a person reads before the page of all links changes, or the draft is replaced. */

const { pageTemplate, links } = contract;
/** Where more places change than a person compares, the new text is shown as a whole. */
const mostPlaces = 100;

export async function previewPublication(
  given: JsonObject,
  { live, draft }: TemplateState,
  call: Asking,
): Promise<Preview> {
  const changes = describeChanges(live, { ...draft, ...pickText(given) });
  return {
    title: "Show this page on all links of the project",
    facts: [await countLinks(call), { name: "live now", text: describeLive(live) }, ...changes],
  };
}

export async function previewUnpublication(
  { live }: TemplateState,
  call: Asking,
): Promise<Preview> {
  return {
    title: "Take the project's page down: all links show their default page",
    facts: [await countLinks(call), { name: "live now", text: describeLive(live) }],
  };
}

export function previewSaving(given: JsonObject, { draft }: TemplateState): Preview {
  const changes = describeChanges(draft, { ...draft, ...pickText(given) });
  return { title: "Replace the draft of the links' page", facts: changes };
}

export async function previewRestoration(
  id: string,
  { draft }: TemplateState,
  { ask }: Asking,
): Promise<Preview> {
  const version = await readIfAllowed(() => ask(pageTemplate.version, { id }));
  return {
    title: "Replace the draft of the page with an older version",
    facts: [
      { name: "version", text: version === undefined ? quote(id) : describeLive(version) },
      { name: "links", text: "none changes: nothing is published" },
      ...describeChanges(draft, version ?? {}),
    ],
  };
}

function describeLive(live: TemplateState["live"]): string {
  if (live === undefined) return "this API key may not read it";
  if (live === null) return "nothing: links show their default page";
  return `version ${quote(live.id)} of ${quote(live.published_at)}`;
}

/** The lines that go and come, of both texts; where nothing is live, all of them come. */
export function describeChanges(
  before: TemplateText | null | undefined,
  after: Partial<TemplateText>,
): readonly Fact[] {
  return (["body", "css"] as const).flatMap((field) => {
    const text = after[field];
    if (text === undefined) {
      return [{ name: field, text: "the draft's, which this API key may not read" }];
    }
    const old = before?.[field];
    const changes = compareLines(old ?? "", text);
    if (old !== undefined && changes.length === 0) return [{ name: field, text: "stays as it is" }];
    const places = groupLines(changes);
    if (places.length <= mostPlaces) return places.map((place) => describePlace(field, place));
    const whole = groupLines(compareLines("", text));
    return whole.map((place) => describePlace(`${field}, as it will be`, place));
  });
}

/** Neighbours of one kind are one place. */
function groupLines(changes: readonly Change[]): readonly (readonly Change[])[] {
  const places: Change[][] = [];
  for (const change of changes) {
    const last = places.at(-1)?.at(-1);
    const isNext = last?.kind === change.kind && last.line + 1 === change.line;
    if (isNext) places.at(-1)?.push(change);
    else places.push([change]);
  }
  return places;
}

/** Every line is in quotes, so that nothing in it reads like a sentence of Waypost. */
function describePlace(field: string, place: readonly Change[]): Fact {
  const lines = place.map(({ kind, text }) => {
    return `${kind === "added" ? "+" : "−"} ${quote(text, text.length)}`;
  });
  return { name: `${field}, line ${place[0]?.line}`, text: lines.join("\n") };
}

async function countLinks({ ask }: Asking): Promise<Fact> {
  const page = await readIfAllowed(() => ask(links.index, { limit: 1 }));
  const count = page?.meta.count ?? "all; they could not be counted";
  return { name: "links that change", text: String(count) };
}
