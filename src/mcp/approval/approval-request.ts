import type { JsonObject } from "../../contract/json.ts";
import { digestOf } from "../../text/digest.ts";

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

export type Preview = {
  /** One sentence: what will happen, to what. */
  readonly title: string;
  /** What changes, what the target is, and what else is touched. */
  readonly facts: readonly Fact[];
  /** How many rows it is about, where a person must have seen that they are many. */
  readonly count?: number | undefined;
  /** What the button says that it does: "Change 60 links". */
  readonly button?: string;
  /** Rows that the page can list one by one. */
  readonly rows?: { readonly plan_id: string };
  /** Something of it can only be read on the page, however short the text is. */
  readonly isPartial?: boolean;
};

export type Fact = {
  readonly name: string;
  readonly text: string;
  /** It is one of `rows`, so that a page that lists these need not show it twice. */
  readonly isRow?: boolean;
};

/** Two calls with the same digest are the same request of the same key. */
export function digestRequest(request: ApprovalRequest, keyPrint: string): string {
  const { tool, args, target, state } = request;
  return digestOf([keyPrint, tool, args, target, state]);
}

/** A client's form and a model's context have room for a page of text, not for more. */
const mostCharacters = 12_000;
/** Of the facts that are omitted, so many are named. */
const mostNamed = 20;

/** The preview as a text; facts that it has no room for are named at its end. */
export function writePreview(preview: Preview): string {
  const { title, facts } = preview;
  const count = countFitting(preview);
  const omitted = facts.slice(count).map(({ name }) => name);
  const named = [...omitted.slice(0, mostNamed), ...(omitted.length > mostNamed ? ["…"] : [])];
  const rest = omitted.length === 0 ? [] : [`- too long to be shown here: ${named.join("; ")}`];
  return [title, ...facts.slice(0, count).map(writeFact), ...rest].join("\n");
}

/** Whether a text of it holds every fact, and the facts tell everything. */
export function fitsText(preview: Preview): boolean {
  return preview.isPartial !== true && countFitting(preview) === preview.facts.length;
}

function countFitting({ facts }: Preview): number {
  let room = mostCharacters;
  const index = facts.findIndex((fact) => (room -= writeFact(fact).length) < 0);
  return index < 0 ? facts.length : index;
}

function writeFact({ name, text }: Fact): string {
  return `- ${name}: ${text.includes("\n") ? `\n${text}` : text}`;
}
