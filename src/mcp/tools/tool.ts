import type * as z from "zod";
import type { ProjectApps } from "../../bulk/select/project-apps.ts";
import type { Condition } from "../../contract/condition.ts";
import type { Endpoint, Input, Answer } from "../../contract/endpoint.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Leaving } from "../../contract/leaving.ts";
import type { Group, ResourceKind } from "../../contract/resource-kind.ts";
import type { Change, Effect, Ended, Target, Writer } from "../../state/history.ts";
import type { Access, Reading } from "../access/key-access.ts";
import type { KeyContext } from "../access/key-context.ts";
import type { ApprovalRequest } from "../approval/question.ts";
import type { ApprovedOverwrite } from "../approval/approve-overwrite.ts";
import type { CallProblem } from "../results/call-problem.ts";
import type { Task } from "../results/job-task.ts";
import type { Picture } from "../results/tool-result.ts";
import { checkArguments } from "../schemas/check-arguments.ts";
import { buildBothSchemas, buildInput, type Fields } from "../schemas/input-schema.ts";
import { once } from "../schemas/once.ts";

/** A tool as the server knows it, whether derived from the contract or written by hand. */
export type Tool = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Undefined for a tool that is always there, whichever groups were chosen. */
  readonly group: Group | undefined;
  readonly effect: Endpoint["effect"];
  /** Whether it is of no use in a mode that may change nothing. */
  readonly preparesWriting?: boolean | undefined;
  readonly annotations: Annotations;
  /** Another tool that explains the same: where both are listed, it is explained there alone. */
  readonly like?: Likeness | undefined;
  /** Made once, when first asked for: a start that lists no tools makes none. */
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

/** What is known of a write's target before it happens. */
export type Known = {
  readonly kind: ResourceKind;
  /** Left out where it is about to be made. */
  readonly id?: string | undefined;
  /** Null where there is none, undefined where the key may not read it. */
  readonly before: JsonObject | null | undefined;
  readonly condition?: Condition | undefined;
  /** Apps that it registers besides. */
  readonly registered?: readonly { readonly kind: ResourceKind; readonly fields: JsonObject }[];
};

export type Written<E extends Endpoint> = {
  readonly body: Answer<E>;
  /** Its id and what it changed, for the result. */
  readonly change: JsonObject;
  /** The apps that it registered besides, where they could be read. */
  readonly registered: readonly JsonObject[];
};

/** A change about to begin; the effects are those that its requests bring with them. */
export type NewChange = Target & {
  readonly effects: readonly Effect[];
  readonly note?: string | undefined;
  readonly undoes?: string;
};

/** One request of a change. */
export type JournalStep = {
  /** What the history says while the response is unknown. */
  readonly intended: Effect;
  readonly send: () => Promise<unknown>;
  readonly describe: (body: unknown) => Promise<Outcome>;
};

/** The effects of a request, and what else the history now says of the change. */
export type Outcome = Partial<Omit<Ended, "state">> & Pick<Ended, "effects">;

export type Journaled = { readonly change: Change; readonly bodies: readonly unknown[] };

/** One call of a tool. */
export type Call = {
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
    condition?: Condition,
  ) => Promise<Answer<E>>;
  /**
   * As `ask`, for what Waypost reads or draws by itself: our own service charges no budget for it.
   * So a tool's call costs the key what the one REST call costs that the tool is named after.
   */
  readonly askFree: Call["ask"];
  /** From now on nobody knows of a call that fails what it has done, as after a write's `ask`. */
  readonly noteActing: () => void;
  /** Throws where the operator lets no tool do what this endpoint does. */
  readonly requireAct: (endpoint: Endpoint) => void;
  /** Throws where the endpoint would fail now because the key's budget is spent. */
  readonly requireBudget: (endpoint: Endpoint) => Promise<void>;
  /** As `ask`, for what changes something: it is noted in the history before and after. */
  readonly write: <E extends Endpoint>(
    endpoint: E,
    input: Input<E>,
    known: Known,
  ) => Promise<Written<E>>;
  /** The same for a change of several requests. */
  readonly journal: (begun: NewChange, steps: readonly JournalStep[]) => Promise<Journaled>;
  /** As what this call's writes are noted. */
  readonly writer: Writer;
  /** Throws until a person has approved of this very request. */
  readonly approve: (request: ApprovalRequest) => Promise<void>;
  /** As `approve`, but only where the key has overwritten many things without being asked. */
  readonly approveOverwrite: (
    describe: () => Promise<ApprovalRequest>,
  ) => Promise<ApprovedOverwrite>;
  /** Reports a success with what is wrong beside it. */
  readonly addProblems: (problems: readonly CallProblem[]) => unknown;
  /** Shows a picture beside the result, if there is to be a result. */
  readonly attachPicture: (picture: Picture) => unknown;
  /** Gives data to the tool's view; undefined where the client shows none. */
  readonly attachView: ((data: JsonObject) => unknown) | undefined;
  readonly tellProgress: (progress: Progress) => unknown;
  /** Whether the client takes a task for an answer, and the task that runs on after this call. */
  readonly takesTasks: boolean;
  readonly answerWithTask: (task: Task) => unknown;
};

type Making = Pick<
  Tool,
  "name" | "title" | "description" | "group" | "effect" | "readAccess" | "run"
> &
  Pick<Partial<Tool>, "preparesWriting" | "like" | "view"> & {
    /** Whether a second call changes nothing more; a call that reads never does. */
    readonly idempotent?: boolean;
    readonly overwrites?: boolean;
    /** What the tool takes. */
    readonly fields: () => Fields;
    /** What is published of it, and where another tool describes the same fields. */
    readonly shownFields?: () => Fields;
    readonly terseFields?: () => Fields;
    /** Fields that another tool may describe. */
    readonly told?: readonly string[];
    /** Fields that are declared as required, and left to the API to check. */
    readonly needed?: readonly string[] | undefined;
    /** Whether the names of the `told` fields say enough where no other tool describes them. */
    readonly isWordless?: boolean;
    /** Arguments in which null has a meaning to the API. */
    readonly nullable?: readonly string[];
    readonly output: () => JsonObject;
  };

/** A tool with its schemas, each built when it is first asked for. */
export function makeTool(making: Making): Tool {
  const { fields, shownFields = fields, terseFields = shownFields, output, ...rest } = making;
  const { told = [], needed, isWordless, nullable, idempotent = true, overwrites, ...tool } = rest;
  const schema = once(() => buildInput(fields()));
  return {
    ...tool,
    annotations: {
      readOnlyHint: tool.effect === "read",
      destructiveHint: tool.effect === "destroy" || overwrites === true,
      idempotentHint: idempotent,
      // Every tool works on the one server that the operator chose, and on nothing beyond it.
      openWorldHint: false,
    },
    inputSchema: buildBothSchemas(shownFields, told, {
      terseFields,
      ...(needed && { needed }),
      ...(isWordless && { isWordless }),
    }),
    outputSchema: once(output),
    check: (given) => checkArguments(tool.name, schema(), given, nullable),
  };
}

/** What a tool of an endpoint has that the endpoint does not, or not so. */
export type Addition = {
  readonly fields?: Fields;
  readonly result?: Readonly<Record<string, z.ZodType>>;
  readonly run?: (endpoint: Endpoint, args: JsonObject, call: Call) => Promise<JsonObject>;
  /** What `id` may be, in a few words. */
  readonly idText?: string;
  readonly view?: string;
};

/** For a tool that is of use to a key with any of these rights. */
export function readAny(endpoints: readonly Endpoint[]): Tool["readAccess"] {
  return (access) => {
    const readings = endpoints.map((endpoint) => access.read(endpoint));
    const find = (wanted: Reading["state"]) => readings.find(({ state }) => state === wanted);
    return find("granted") ?? find("unknown") ?? readings[0] ?? { state: "granted" };
  };
}
