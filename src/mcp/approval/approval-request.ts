import type { JsonObject } from "../../contract/json.ts";
import { digestOf } from "../../text/digest.ts";
import { countLines, type DiffLine, type Hunk } from "../../text/diff-lines.ts";
import { quote } from "../../text/show-hidden.ts";
import { writeWords } from "../../text/write-label.ts";

/** What a person is asked to approve: this tool, with these arguments, on this target as it is. */
export type ApprovalRequest = {
  readonly tool: string;
  readonly args: JsonObject;
  /** The target's UUID. */
  readonly target: string;
  /** The target as it is now, without fields that change by themselves. */
  readonly state: unknown;
  readonly preview: Preview;
};

/** The key that asks, by its print, and its project, or else the deployment. */
export type AskingKey = { readonly key_print: string; readonly realm: string };

/** What a person sees on the page, in a client's form and in `error.approval.preview`. */
export type Preview = {
  /** One sentence: what will happen, to what. */
  readonly title: string;
  /** What the page's button says: the act in two words. */
  readonly button?: string | undefined;
  /** Whether something is lost by it. */
  readonly destroys?: boolean | undefined;
  /** What changes, what the target is, and what else is touched. */
  readonly facts: readonly Fact[];
  /** How many rows it is about, where a person must have seen that they are many. */
  readonly count?: number | undefined;
  /** Where the target was changed within the hour: the person may know it as it was before. */
  readonly recent?: RecentChange | undefined;
  /** The plan that is applied: the page shows every row of it that is still to be done. */
  readonly rows?: PlanRows | undefined;
  /** Something of it can only be read on the page, however short the text is. */
  readonly isPartial?: boolean | undefined;
  readonly frames?: Frames | undefined;
};

type PlanRows = {
  readonly plan_id: string;
  /** Where an assistant reads them all. */
  readonly uri?: string | undefined;
  /** The rows of the links that most visitors follow, by their positions. */
  readonly most_clicked?: readonly number[] | undefined;
  /** The names of apps that rows tell of by their UUID, in quotes. */
  readonly names?: Readonly<Record<string, string>> | undefined;
};

type RecentChange = {
  readonly at: number;
  /** The same on the user's clocks. */
  readonly time: string;
  /** Who changed it: "this key". */
  readonly by: string;
  /** What it was, in quotes where it is a stranger's text. */
  readonly was: string;
};

/** Pages as they look, for the approval page alone; or why they are not shown. */
export type Frames = { readonly pages: readonly Frame[] } | { readonly left_out: string };

/** The HTML that each device is sent. */
type Frame = { readonly name: string; readonly phone: string; readonly desktop: string };

/** Texts of strangers are in quotes; only lines are quoted where they are shown. */
export type Fact = {
  readonly name: string;
  /** What else there is to know of it: a host as machines ask for it. */
  readonly note?: string | undefined;
  /** What may deceive about it. */
  readonly warnings?: readonly string[] | undefined;
  /** It is one of the plan's rows, which a page that lists these need not show twice. */
  readonly isRow?: boolean | undefined;
} & (
  | { readonly kind?: undefined; readonly text: string }
  /** The old value, where it is known, and the new one. */
  | { readonly kind: "change"; readonly from?: string | undefined; readonly to: string }
  /** Where visitors go, as it is sent. */
  | { readonly kind: "address"; readonly address: string }
  /** Lines that a text or a file gains and loses. */
  | { readonly kind: "lines"; readonly lines: readonly Line[] }
  /** What changes in a text, with the lines around it; a page shows it folded. */
  | { readonly kind: "diff"; readonly hunks: readonly Hunk[] }
  | { readonly kind: "list"; readonly items: readonly string[] }
);

export type Line = { readonly kind: "added" | "removed"; readonly text: string };

/**
 * Two calls with the same digest are the same request of the same key, at one deployment. What a
 * person does by hand is never the same as what an assistant does.
 */
export function digestRequest(
  request: ApprovalRequest,
  { key_print, realm }: AskingKey,
  isByHand = false,
): string {
  const { tool, args, target, state } = request;
  const door = isByHand ? ["by hand"] : [];
  return digestOf([key_print, realm, tool, args, target, state, ...door]);
}

/** A client's form and a model's context have room for a page of text, not for more. */
const mostCharacters = 12_000;
/** Of the facts that are omitted, so many are named. */
const mostNamed = 20;

/** The preview as a text; facts that it has no room for are named at its end. */
export function writePreview(preview: Preview): string {
  const facts = listFacts(preview);
  const count = countFitting(facts);
  const omitted = facts.slice(count).map(({ name }) => writeFactName(name, writeWords));
  const named = [...omitted.slice(0, mostNamed), ...(omitted.length > mostNamed ? ["…"] : [])];
  const uri = fitsText(preview) ? undefined : preview.rows?.uri;
  const where = uri === undefined ? [] : [`- only a part is shown here; all rows: ${uri}`];
  const rest =
    omitted.length === 0 ? [] : [`- left out because of their length: ${named.join("; ")}`];
  return [preview.title, ...facts.slice(0, count).map(writeFact), ...rest, ...where].join("\n");
}

/** Whether a text of it holds every fact, and the facts tell everything. */
export function fitsText(preview: Preview): boolean {
  const facts = listFacts(preview);
  return preview.isPartial !== true && countFitting(facts) === facts.length;
}

/** With the change that was made a short time ago, by the clock: a text is read later. */
function listFacts({ facts, recent }: Preview): readonly Fact[] {
  if (recent === undefined) return facts;
  const { time, by, was } = recent;
  return [{ name: "changed", text: `${time} by ${by}; before that: ${was}` }, ...facts];
}

function countFitting(facts: readonly Fact[]): number {
  let room = mostCharacters;
  const index = facts.findIndex((fact) => (room -= writeFact(fact).length) < 0);
  return index < 0 ? facts.length : index;
}

function writeFact(fact: Fact): string {
  const text = writeFactText(fact);
  const note = fact.note === undefined ? "" : ` (${fact.note})`;
  const warnings = (fact.warnings ?? []).map((warning) => ` (warning: ${warning})`).join("");
  const name = writeFactName(fact.name, writeWords);
  return `- ${name}: ${text.includes("\n") ? `\n${text}` : text}${note}${warnings}`;
}

/** In people's words, except for file names and for names that a person gave, which are quoted. */
export function writeFactName(name: string, write: (words: string) => string): string {
  if (/^[a-z]+[-.][-.a-z]+$/.test(name)) return name;
  const [, ours = "", quoted = ""] = /^([^"]*)(.*)$/s.exec(name) ?? [];
  return write(ours) + quoted;
}

export function writeFactText(fact: Fact): string {
  switch (fact.kind) {
    case "change":
      return fact.from === undefined ? `becomes ${fact.to}` : `${fact.from} → ${fact.to}`;
    case "address":
      return fact.address;
    case "lines":
      return fact.lines.map(writeLine).join("\n");
    case "diff":
      return fact.hunks.flatMap((hunk) => [writePlace(hunk), ...writeHunk(hunk)]).join("\n");
    case "list":
      return fact.items.join("\n");
    case undefined:
      return fact.text;
  }
}

/** As unified diffs write it: where the hunk begins in both texts, and its number of lines. */
export function writePlace(hunk: Hunk): string {
  const { old_start, new_start, lines } = hunk;
  const kept = countLines([hunk], "kept");
  const added = countLines([hunk], "added");
  const removed = lines.length - kept - added;
  return `@@ −${old_start},${kept + removed} +${new_start},${kept + added} @@`;
}

const fewestKept = 3;

/** Of a text that is replaced as a whole, the old lines are only counted. */
function writeHunk({ lines }: Hunk): readonly string[] {
  const removed = lines.filter(({ kind }) => kind === "removed");
  const isReplaced = removed.length > fewestKept && !lines.some(({ kind }) => kind === "kept");
  if (!isReplaced) return lines.map(writeLine);
  const rest = lines.filter(({ kind }) => kind !== "removed");
  return [`− all ${removed.length} lines`, ...rest.map(writeLine)];
}

/** In quotes, so that nothing in it reads like a sentence of Waypost. */
export function writeLine({ kind, text }: Line | DiffLine): string {
  return `${signs[kind]} ${quote(text, text.length)}`;
}

export const signs = { added: "+", removed: "−", kept: " " } as const;
