import type { ProjectApps } from "../../lists/project-apps.ts";
import type { WriteCondition } from "../../contract/condition.ts";
import type { Endpoint, Input, CallAnswer } from "../../contract/endpoint.ts";
import type { JsonObject } from "../../contract/json.ts";
import { type CallerSignal, once } from "../../contract/waiting.ts";
import type { ToolGroup } from "../../contract/resource-kind.ts";
import type { Report } from "../../contract/watch.ts";
import type { ChangeAuthor } from "../../state/history.ts";
import type { Access, AccessState } from "../access/key-access.ts";
import type { KeyContext } from "../access/key-context.ts";
import type { ApprovalRequest } from "../approval/question.ts";
import type { CallProblem } from "../results/call-problem.ts";
import type { JobTask } from "../results/job-task.ts";
import type { CallEffect } from "../results/tool-failure.ts";
import { checkArguments } from "../schemas/check-arguments.ts";
import {
  buildBothSchemas,
  buildInput,
  type PublishedFields,
  type ToolFields,
} from "../schemas/input-schema.ts";
import { buildOutputSchema } from "../schemas/output-schema.ts";

/** A tool, either derived from an endpoint or defined separately. */
export type Tool = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Undefined for a tool that is always offered. */
  readonly group: ToolGroup | undefined;
  readonly effect: Endpoint["effect"];
  /** Whether the tool prepares changes. If so, read-only mode excludes it. */
  readonly preparesWriting?: boolean | undefined;
  readonly annotations: Annotations;
  /**
   * A tool with the same fields. If both are listed, only the other tool's schema describes them.
   */
  readonly like?: SharedDescription | undefined;
  /** Built lazily, because many processes list no tools. */
  readonly inputSchema: (isTerse: boolean) => JsonObject;
  readonly outputSchema: () => JsonObject;
  readonly readAccess: (access: Access) => AccessState;
  /** Validates the arguments. Throws a ToolFailure with all their problems. */
  readonly check: (given: unknown) => JsonObject;
  readonly run: (args: JsonObject, call: ToolCall) => Promise<JsonObject>;
  /** The URI of the view that shows the tool's result. */
  readonly view?: string | undefined;
};

export type SharedDescription = { readonly what: "Fields" | "Filters"; readonly tool: string };

/** All four hints are required, because clients assume the worst for a missing hint. */
type Annotations = {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
};

/** Images for the model and data for views, returned along with a result. */
export type ResultExtras = {
  readonly pictures: { readonly data: Uint8Array; readonly mimeType: "image/png" }[];
  readonly views: JsonObject[];
};

export type CallProgress = {
  readonly progress: number;
  readonly total?: number;
  readonly message: string;
};

export type ToolCall = {
  readonly tool: string;
  readonly keyContext: KeyContext;
  /** Aborted when the client disconnects or cancels the call. */
  readonly signal: CallerSignal;
  /** The project's apps, read at most once per call. */
  readonly apps: ProjectApps;
  readonly requestId: string | undefined;
  /**
   * Calls the API, and learns from the response what the key may do. Throws a ToolFailure on
   * errors.
   */
  readonly callApi: <E extends Endpoint>(
    endpoint: E,
    input: Input<E>,
    condition?: WriteCondition,
  ) => Promise<CallAnswer<E>>;
  /**
   * Like `callApi`, for requests that Waypost adds to a tool call. The embedded service does not
   * count them against the rate limit.
   */
  readonly callApiFree: ToolCall["callApi"];
  /** What the call has done so far, for the error message if it fails later. */
  readonly acted: CallEffect;
  /** The author recorded in the history for this call's changes. */
  readonly writer: ChangeAuthor;
  /** Throws unless a user has approved exactly this request. */
  readonly requireApproved: (request: ApprovalRequest) => Promise<void>;
  /**
   * Performs an overwrite. Asks a user first if the key has made many overwrites without approval.
   */
  readonly approveOverwrite: <Result>(
    describe: () => Promise<ApprovalRequest>,
    carryOut: () => Promise<Result>,
  ) => Promise<Result>;
  readonly problems: CallProblem[];
  readonly extras: ResultExtras;
  readonly showsViews: boolean;
  readonly reportProgress: (progress: CallProgress) => unknown;
  /**
   * Returns a task to the client while the job continues. Undefined if the client does not support
   * tasks.
   */
  readonly answerWithTask: ((task: JobTask) => unknown) | undefined;
  readonly report: Report;
};

type ToolDefinition = Pick<
  Tool,
  "name" | "title" | "description" | "group" | "effect" | "readAccess" | "run"
> &
  Pick<Partial<Tool>, "preparesWriting" | "like" | "view"> &
  PublishedFields & {
    /** Whether repeating the call has no further effect; true by default. */
    readonly idempotent?: boolean;
    readonly overwrites?: boolean;
    /** The schemas that validate the arguments, if they differ from the published ones. */
    readonly checkedFields?: () => ToolFields;
    /** Arguments for which the API accepts null. */
    readonly nullable?: readonly string[];
    readonly result: () => ToolFields;
  };

export function makeTool(making: ToolDefinition): Tool {
  const {
    fields,
    checkedFields = () => fields(false),
    result,
    nullable,
    idempotent = true,
    overwrites,
    ...tool
  } = making;
  const schema = once(() => buildInput(checkedFields()));
  return {
    ...tool,
    annotations: {
      readOnlyHint: tool.effect === "read",
      destructiveHint: tool.effect === "destroy" || overwrites === true,
      idempotentHint: idempotent,
      // Tools call only the server that the operator configured.
      openWorldHint: false,
    },
    inputSchema: buildBothSchemas(making),
    outputSchema: once(() => buildOutputSchema(result())),
    check: (given) => checkArguments(tool.name, schema(), given, nullable),
  };
}

/** Extends or replaces parts of an endpoint's tool. */
export type EndpointAddition = {
  readonly fields?: ToolFields;
  readonly result?: ToolFields;
  readonly run?: (endpoint: Endpoint, args: JsonObject, call: ToolCall) => Promise<JsonObject>;
  readonly idText?: string;
  readonly view?: string;
};

/** Returns the access to a tool that needs the permission for at least one of these endpoints. */
export function readAny(endpoints: readonly Endpoint[]): Tool["readAccess"] {
  return (access) => {
    const readings = endpoints.map((endpoint) => access.read(endpoint));
    const find = (wanted: AccessState["state"]) => readings.find(({ state }) => state === wanted);
    return find("granted") ?? find("unknown") ?? readings[0] ?? { state: "granted" };
  };
}
