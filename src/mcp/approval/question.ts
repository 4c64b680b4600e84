import type { JsonObject } from "../../contract/json.ts";
import type { Approval } from "../../state/approvals.ts";
import type { Hunk } from "../../text/differences.ts";

/** The parts of the question that a user reads before approving a tool call. */

/** A tool call that needs approval, with the question for the user. */
export type ApprovalRequest = {
  readonly tool: string;
  readonly args: JsonObject;
  readonly target: string;
  /** The target's current state, without fields that change on their own, such as click counts. */
  readonly state: unknown;
  readonly question: Question;
};

/**
 * The question that a user answers. The tool builds it once. Forms, `error.approval.preview`, the
 * approval page and the console only render it.
 */
export type Question = {
  readonly title: string;
  /** The label of the page's button, in about two words. */
  readonly button?: string | undefined;
  /** Whether data will be lost. */
  readonly destroys?: boolean | undefined;
  readonly facts: readonly Fact[];
  /** The number of changed links, if the user must type it to approve. */
  readonly count?: number | undefined;
  /**
   * Set if the target changed within the last hour, because the user may remember its old state.
   */
  readonly recent?: RecentChange | undefined;
  /** The plan to apply. The approval page shows all its pending rows. */
  readonly rows?: PlanRows | undefined;
  /** Set if `facts` omits parts of a plan, so that the user is asked on the approval page. */
  readonly isPartial?: boolean | undefined;
  readonly frames?: Frames | undefined;
};

type PlanRows = {
  readonly plan_id: string;
  /** The URI of the MCP resource that lists all rows. */
  readonly uri?: string | undefined;
  /** The positions of the rows with the most clicked links. */
  readonly most_clicked?: readonly number[] | undefined;
  /** The quoted names of apps that rows identify only by UUID. */
  readonly names?: Readonly<Record<string, string>> | undefined;
};

type RecentChange = {
  readonly at: number;
  /** The time of the change in the user's time zone. */
  readonly time: string;
  /** The author of the change, such as "this key". */
  readonly by: string;
  /** The earlier value. Untrusted text is quoted. */
  readonly was: string;
};

/** Previews of a page template for the approval page, or why they are missing. */
export type Frames = { readonly pages: readonly FramePage[] } | { readonly left_out: string };

type FramePage = { readonly name: string; readonly phone: string; readonly desktop: string };

/**
 * A fact in a question. Untrusted text is already quoted, except in `lines` and `hunks`, which are
 * quoted when they are rendered.
 */
export type Fact = {
  readonly name: string;
  readonly note?: string | undefined;
  readonly warnings?: readonly string[] | undefined;
  /** Whether the fact is a row of the plan, which the page lists separately. */
  readonly isRow?: boolean | undefined;
} & (
  | { readonly kind?: undefined; readonly text: string }
  | { readonly kind: "change"; readonly from?: string | undefined; readonly to: string }
  /** The exact URL that visitors are redirected to. */
  | { readonly kind: "address"; readonly address: string }
  | { readonly kind: "lines"; readonly lines: readonly ChangedLine[] }
  /** Changes in a text, with the lines around them. The approval page shows them collapsed. */
  | { readonly kind: "diff"; readonly hunks: readonly Hunk[] }
  | { readonly kind: "list"; readonly items: readonly string[] }
);

export type ChangedLine = { readonly kind: "added" | "removed"; readonly text: string };

/** The requesting client and key, as shown to the user. */
export type Asker = {
  readonly client?: string | undefined;
  /** The host of the project's links or, if unknown, of the server. */
  readonly place?: string | undefined;
  /** The end of the key's ID or, if unknown, the start of the key's hash. */
  readonly key?: string | undefined;
};

export type StoredQuestion = Question & {
  readonly asker: Asker;
  readonly isByHand: boolean;
};

export function readStored({ preview }: Pick<Approval, "preview">): StoredQuestion {
  return JSON.parse(preview) as StoredQuestion;
}
