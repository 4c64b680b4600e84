import type { JsonObject } from "../../contract/json.ts";
import type { Approval } from "../../state/approvals.ts";
import { digestOf } from "../../text/digest.ts";
import type { Hunk } from "../../text/differences.ts";

/** What a person is asked to approve: this tool, with these arguments, on this target as it is. */
export type ApprovalRequest = {
  readonly tool: string;
  readonly args: JsonObject;
  /** The target's UUID. */
  readonly target: string;
  /** The target as it is now, without fields that change by themselves. */
  readonly state: unknown;
  readonly question: Question;
};

/** The key that asks, identified by a hash. The realm is its project, or else the server. */
export type AskingKey = { readonly key_print: string; readonly realm: string };

/**
 * The question to a person. The tool writes it once. A client's form, `error.approval.preview`, the
 * approval page and the console only render it.
 */
export type Question = {
  /** One sentence: what will happen, to what. */
  readonly title: string;
  /** What the page's button says: the act in two words. */
  readonly button?: string | undefined;
  /** Whether the act loses something. */
  readonly destroys?: boolean | undefined;
  /** What changes, what the target is, and what else is touched. */
  readonly facts: readonly Fact[];
  /** The number of rows, if the person must type it to show that they saw how many there are. */
  readonly count?: number | undefined;
  /** Set when the target changed within the hour: the person may remember it as it was before. */
  readonly recent?: RecentChange | undefined;
  /** The plan to apply. The page shows all its rows that are not done yet. */
  readonly rows?: PlanRows | undefined;
  /** Whether part of it can only be read on the page, however short the text is. */
  readonly isPartial?: boolean | undefined;
  readonly frames?: Frames | undefined;
};

type PlanRows = {
  readonly plan_id: string;
  /** The resource with all rows, for an assistant. */
  readonly uri?: string | undefined;
  /** The rows of the most clicked links, by their positions. */
  readonly most_clicked?: readonly number[] | undefined;
  /** The names of apps that rows only give by UUID, in quotes. */
  readonly names?: Readonly<Record<string, string>> | undefined;
};

type RecentChange = {
  readonly at: number;
  /** The same time on the user's clocks. */
  readonly time: string;
  /** The key that changed it, such as "this key". */
  readonly by: string;
  /** The earlier value, in quotes if it is a stranger's text. */
  readonly was: string;
};

/** How pages look, for the approval page only, or why they are not shown. */
export type Frames = { readonly pages: readonly FramePage[] } | { readonly left_out: string };

/** The HTML that each device is sent. */
type FramePage = { readonly name: string; readonly phone: string; readonly desktop: string };

/** A stranger's texts are already in quotes, except lines, which are quoted when shown. */
export type Fact = {
  readonly name: string;
  /** A detail about it, such as a host in the form that machines request. */
  readonly note?: string | undefined;
  /** What may be misleading about it. */
  readonly warnings?: readonly string[] | undefined;
  /** Whether it is one of the plan's rows, which a page lists separately. */
  readonly isRow?: boolean | undefined;
} & (
  | { readonly kind?: undefined; readonly text: string }
  /** The old value, where it is known, and the new one. */
  | { readonly kind: "change"; readonly from?: string | undefined; readonly to: string }
  /** The destination, exactly as visitors are redirected to it. */
  | { readonly kind: "address"; readonly address: string }
  /** Lines that a text or a file gains and loses. */
  | { readonly kind: "lines"; readonly lines: readonly Line[] }
  /** What changes in a text, with the lines around it; a page shows it folded. */
  | { readonly kind: "diff"; readonly hunks: readonly Hunk[] }
  | { readonly kind: "list"; readonly items: readonly string[] }
);

export type Line = { readonly kind: "added" | "removed"; readonly text: string };

/**
 * Two calls with the same digest are the same request of the same key, at one server. A person's
 * request at the console never has the digest of an assistant's.
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

/** The asking client and key, in words for the person. */
export type Asker = {
  /** What the client calls itself. */
  readonly client?: string | undefined;
  /** The host of the project's links, or else the server. */
  readonly place?: string | undefined;
  /** The end of the key's id, or else the start of its hash. It distinguishes keys. */
  readonly key?: string | undefined;
};

/** What an approval stores of its request, as JSON. */
type StoredQuestion = Question & {
  readonly asker: Asker;
  readonly isByHand: boolean;
};

export function storeQuestion(
  question: Question,
  { client, place, key }: Asker,
  isByHand: boolean,
): string {
  // A plan's rows are long, and its page reads them from the plan.
  const facts = question.facts.filter(({ isRow }) => isRow !== true);
  const stored: StoredQuestion = { ...question, facts, asker: { client, place, key }, isByHand };
  return JSON.stringify(stored);
}

export function readStored({ preview }: Pick<Approval, "preview">): StoredQuestion {
  // `storeQuestion` wrote it.
  return JSON.parse(preview) as StoredQuestion;
}
