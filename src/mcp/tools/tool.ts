import type { ProjectApps } from "../../bulk/select/project-apps.ts";
import type { WriteCondition } from "../../contract/condition.ts";
import type { Endpoint, Input, CallAnswer } from "../../contract/endpoint.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Leaving } from "../../contract/leaving.ts";
import type { ToolGroup } from "../../contract/resource-kind.ts";
import type { Report } from "../../contract/watch.ts";
import type { ChangeAuthor } from "../../state/history.ts";
import type { Access, AccessState } from "../access/key-access.ts";
import type { KeyContext } from "../access/key-context.ts";
import type { ApprovalRequest } from "../approval/question.ts";
import type { CallProblem } from "../results/call-problem.ts";
import type { JobTask } from "../results/job-task.ts";
import type { CallEffect } from "../results/tool-failure.ts";
import type { ResultExtras } from "../results/tool-result.ts";
import { checkArguments } from "../schemas/check-arguments.ts";
import { buildBothSchemas, buildInput, type ToolFields } from "../schemas/input-schema.ts";
import { once } from "../schemas/once.ts";
import { buildOutputSchema } from "../schemas/output-schema.ts";

/** A tool as the server knows it, whether derived from the contract or written by hand. */
export type Tool = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Undefined for a tool that is always there, whichever groups were chosen. */
  readonly group: ToolGroup | undefined;
  readonly effect: Endpoint["effect"];
  /** Whether it is of no use in a mode that may change nothing. */
  readonly preparesWriting?: boolean | undefined;
  readonly annotations: Annotations;
  /** Another tool that explains the same: where both are listed, it is explained there alone. */
  readonly like?: Likeness | undefined;
  /** Made once, when first asked for: a start that lists no tools makes none. */
  readonly inputSchema: (isTerse: boolean) => JsonObject;
  readonly outputSchema: () => JsonObject;
  readonly readAccess: (access: Access) => AccessState;
  /** Throws a ToolFailure that names everything that is wrong with the arguments. */
  readonly check: (given: unknown) => JsonObject;
  readonly run: (args: JsonObject, call: Call) => Promise<JsonObject>;
  /** The address of the view that shows the tool's result. */
  readonly view?: string | undefined;
};

export type Likeness = { readonly what: "Fields" | "Filters"; readonly tool: string };

/** All four hints, always: a client fills those that are missing with the worst. */
type Annotations = {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
};

/** How far a long call is, for a client that asked to be told. */
export type Progress = {
  readonly progress: number;
  readonly total?: number;
  readonly message: string;
};

/** One call of a tool. */
export type Call = {
  /** The tool's name. */
  readonly tool: string;
  readonly keyContext: KeyContext;
  readonly signal: Leaving;
  /** The project's apps, read at most once in a call. */
  readonly apps: ProjectApps;
  /** By what it is known in logs. */
  readonly requestId: string | undefined;
  /** Asks the deployment; a refusal is thrown as a ToolFailure, and teaches what the key may do. */
  readonly ask: <E extends Endpoint>(
    endpoint: E,
    input: Input<E>,
    condition?: WriteCondition,
  ) => Promise<CallAnswer<E>>;
  /**
   * As `ask`, for what Waypost reads or draws by itself: our own service charges no budget for it.
   * So a tool's call costs the key what the one REST call costs that the tool is named after.
   */
  readonly askFree: Call["ask"];
  /** What the call has begun to do, for the failure that may end it. */
  readonly acted: CallEffect;
  /** As what this call's writes are noted. */
  readonly writer: ChangeAuthor;
  /** Throws until a person has approved of this very request. */
  readonly approve: (request: ApprovalRequest) => Promise<void>;
  /** Carries out an overwrite, approved where the key has overwritten many things unasked. */
  readonly approveOverwrite: <Result>(
    describe: () => Promise<ApprovalRequest>,
    carryOut: () => Promise<Result>,
  ) => Promise<Result>;
  /** What is wrong although the call succeeds. */
  readonly problems: CallProblem[];
  readonly extras: ResultExtras;
  /** Whether the client shows the view of a tool. */
  readonly showsViews: boolean;
  readonly tellProgress: (progress: Progress) => unknown;
  /** Called with the task that continues after this call; undefined if the client takes no task. */
  readonly answerWithTask: ((task: JobTask) => unknown) | undefined;
  readonly report: Report;
};

type Making = Pick<
  Tool,
  "name" | "title" | "description" | "group" | "effect" | "readAccess" | "run"
> &
  Pick<Partial<Tool>, "preparesWriting" | "like" | "view"> & {
    /** Whether a second call changes nothing more; a call that reads never does. */
    readonly idempotent?: boolean;
    readonly overwrites?: boolean;
    /** What the tool takes; terse where another tool describes the same fields. */
    readonly fields: (isTerse: boolean) => ToolFields;
    /** What arguments are checked by, where that is more than what is published. */
    readonly checkedFields?: () => ToolFields;
    /** Fields that another tool may describe. */
    readonly told?: readonly string[];
    /** Fields that are declared as required, and left to the API to check. */
    readonly needed?: readonly string[] | undefined;
    /** Whether the names of the `told` fields say enough where no other tool describes them. */
    readonly isWordless?: boolean;
    /** Arguments in which null has a meaning to the API. */
    readonly nullable?: readonly string[];
    readonly result: () => ToolFields;
  };

/** A tool with its schemas, each built when it is first asked for. */
export function makeTool(making: Making): Tool {
  const { fields, checkedFields = () => fields(false), result, ...rest } = making;
  const { told = [], needed, isWordless, nullable, idempotent = true, overwrites, ...tool } = rest;
  const schema = once(() => buildInput(checkedFields()));
  return {
    ...tool,
    annotations: {
      readOnlyHint: tool.effect === "read",
      destructiveHint: tool.effect === "destroy" || overwrites === true,
      idempotentHint: idempotent,
      // Every tool works on the one server that the operator chose, and on nothing beyond it.
      openWorldHint: false,
    },
    inputSchema: buildBothSchemas(fields, told, { needed, isWordless }),
    outputSchema: once(() => buildOutputSchema(result())),
    check: (given) => checkArguments(tool.name, schema(), given, nullable),
  };
}

/** What a tool of an endpoint has that the endpoint does not, or not so. */
export type Addition = {
  readonly fields?: ToolFields;
  readonly result?: ToolFields;
  readonly run?: (endpoint: Endpoint, args: JsonObject, call: Call) => Promise<JsonObject>;
  /** What `id` may be, in a few words. */
  readonly idText?: string;
  readonly view?: string;
};

/** For a tool that is of use to a key with any of these rights. */
export function readAny(endpoints: readonly Endpoint[]): Tool["readAccess"] {
  return (access) => {
    const readings = endpoints.map((endpoint) => access.read(endpoint));
    const find = (wanted: AccessState["state"]) => readings.find(({ state }) => state === wanted);
    return find("granted") ?? find("unknown") ?? readings[0] ?? { state: "granted" };
  };
}
