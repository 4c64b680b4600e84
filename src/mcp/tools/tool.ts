import type { Bulk } from "../../bulk/bulk.ts";
import type { Client } from "../../client/client.ts";
import type { Endpoint, Input, Output } from "../../contract/endpoint.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Access, Reading } from "../access/key-access.ts";
import type { Act } from "../approval/approval-request.ts";
import type { Task } from "../results/job-task.ts";

/** A tool as the server knows it, whether derived from the contract or written by hand. */

export const groups = ["links", "short_links", "apps", "projects", "templates", "bulk"] as const;
export type Group = (typeof groups)[number];

export type Tool = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Undefined for what is always there, whichever groups were chosen. */
  readonly group: Group | undefined;
  readonly effect: Endpoint["effect"];
  /** Whether it is of no use to somebody who may change nothing. */
  readonly preparesWriting?: boolean | undefined;
  readonly annotations: Annotations;
  /** Another tool that explains the same: where both are listed, it is explained there alone. */
  readonly like?: Likeness | undefined;
  /** Made once, when first asked for: a start that lists nothing pays for nothing. */
  readonly inputSchema: (isTerse: boolean) => JsonObject;
  readonly outputSchema: () => JsonObject;
  readonly readAccess: (access: Access) => Reading;
  /** Throws a ToolFailure that names everything that is wrong with the arguments. */
  readonly check: (given: unknown) => JsonObject;
  readonly run: (args: JsonObject, call: Call) => Promise<JsonObject>;
  /** The address of the view that shows the tool's result. */
  readonly view?: string | undefined;
};

export type Likeness = { readonly what: "Fields" | "Filters"; readonly tool: string };

/** All four hints, always: a client fills those that are missing with the worst. */
export type Annotations = {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
};

/** What one key sees and how its calls travel: shared by every call that shows the key. */
export type Surface = {
  readonly access: Access;
  /** Asks the deployment, and learns from every answer what the key may do. */
  readonly call: Client["call"];
  /** Plans and jobs of all keys; each is shown its own. */
  readonly bulk: Bulk;
  /** The deployment's address. */
  readonly origin: string;
  /** Tells keys apart without naming them. */
  readonly key_print: string;
  /** Where this key's links live, when that is known: `https://spring.links.example`. */
  readonly linkHost: string | undefined;
  /** Whether a page's button leads by a second host name. */
  readonly hasSecondHost: boolean;
  /** The project's setting, as far as it is known (link-services.md §3). */
  readonly linkInReferrer: boolean;
  /** Whether the operator and the key allow the endpoint's own tool, as far as is known. */
  readonly mayAsk: (endpoint: Endpoint) => boolean;
  /** Finds out what is not known of the access yet; once, however often it is asked for. */
  readonly explore: () => Promise<void>;
  /** Takes over what the embedded service knows of the key by now. */
  readonly renew: () => Promise<void>;
};

/** How far a long call is, for a client that asked to be told. */
export type Progress = {
  readonly progress: number;
  readonly total: number;
  readonly message: string;
};

export type Picture = { readonly data: Uint8Array; readonly mimeType: "image/png" };

/** One call of a tool. */
export type Call = {
  readonly surface: Surface;
  readonly signal: AbortSignal;
  /** Asks the deployment; what it refuses arrives as a ToolFailure, and is learned from. */
  readonly ask: <E extends Endpoint>(endpoint: E, input: Input<E>) => Promise<Output<E>>;
  /** Returns when a person has approved of this very act; leaves by throwing when not. */
  readonly approve: (act: Act) => Promise<void>;
  /** Shows a picture beside the result, if there is to be a result. */
  readonly attach: (picture: Picture) => unknown;
  /** Whether the client has room for a tool's view, and what the view is given then. */
  readonly showsViews: boolean;
  readonly attachView: (data: JsonObject) => unknown;
  readonly tellProgress: (progress: Progress) => unknown;
  /** Whether the client takes a task for an answer, and the task that goes on after this call. */
  readonly takesTasks: boolean;
  readonly goOn: (task: Task) => unknown;
};

export function annotate({
  effect,
  idempotent,
  overwrites,
}: Pick<Endpoint, "effect" | "idempotent" | "overwrites">): Annotations {
  return {
    readOnlyHint: effect === "read",
    destructiveHint: effect === "destroy" || overwrites,
    idempotentHint: idempotent,
    // Every tool works on the one deployment that the operator chose, and on nothing beyond it.
    openWorldHint: false,
  };
}
