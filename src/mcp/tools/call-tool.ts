import type { CallToolResult } from "@modelcontextprotocol/server";
import { describeWarning } from "../../client/send-once.ts";
import { createProjectApps } from "../../lists/project-apps.ts";
import type { RequestOptions } from "../../client/request.ts";
import type { Endpoint, Input, CallAnswer } from "../../contract/endpoint.ts";
import type { JsonObject } from "../../contract/json.ts";
import { once } from "../../contract/waiting.ts";
import type { ReceivedCall, WatchCall } from "../../contract/watch.ts";
import type { KeyContext } from "../access/key-context.ts";
import { refuseDenied } from "../access/key-access.ts";
import type { ApprovalRequest } from "../approval/question.ts";
import type { ApproveOverwrite } from "../approval/approve-overwrite.ts";
import {
  PendingQuestion,
  type Person,
  type RequireApproval,
} from "../approval/require-approval.ts";
import { showHiddenIn } from "../../text/show-hidden.ts";
import { advise } from "../results/advice-by-code.ts";
import type { CallProblem } from "../results/call-problem.ts";
import {
  describeFault,
  explainEnd,
  explainOutage,
  ToolFailure,
  type CallEffect,
  type Failure,
} from "../results/tool-failure.ts";
import { addRecent } from "./history/show-change.ts";
import { nameChangedApps } from "./apps.ts";
import { explainBulkError } from "./bulk/bulk-tool.ts";
import { viewData } from "./templates/run-template.ts";
import type { ResultExtras, ToolCall, Tool } from "./tool.ts";

/** Runs a tool call, and writes its result or error for the client. */

export type CallContext = Pick<ToolCall, "keyContext" | "signal" | "reportProgress" | "report"> &
  Partial<Pick<ToolCall, "requestId" | "showsViews" | "answerWithTask">> & {
    readonly requireApproval: RequireApproval;
    readonly approveOverwrite: ApproveOverwrite;
    readonly person: Person;
    readonly meta?: ReceivedCall["meta"];
    readonly watchCall?: WatchCall | undefined;
  };

const shownCharacters = 8;

/** Returns a result even for errors, but throws `PendingQuestion` if a user must answer first. */
export async function callTool(
  tool: Tool,
  given: unknown,
  context: CallContext,
): Promise<CallToolResult> {
  const endWatch = context.watchCall?.(tool.name, context);
  const call = makeCall(tool.name, context);
  try {
    const denied = tool.readAccess(context.keyContext.access);
    if (denied.state === "denied") throw refuseDenied({ tool: tool.name }, denied);
    const result = await presentResult(await tool.run(tool.check(given), call), call);
    endWatch?.("ok");
    return toCallResult(result, call.extras);
  } catch (error) {
    if (error instanceof PendingQuestion) {
      endWatch?.("asked");
      throw error;
    }
    const failure = explainError(error, tool, call.acted, context);
    endWatch?.(failure.code);
    return answerFailure(failure);
  }
}

function explainError(
  error: unknown,
  tool: Tool,
  acted: CallEffect,
  { report, requestId, meta }: CallContext,
): Failure {
  const end = explainBulkError(tool.name, explainEnd({ tool: tool.name }, error));
  if (end instanceof ToolFailure) return end.failure;
  return (
    explainOutage(error, tool, acted) ??
    explainInternal(tool, describeFault(report(error, requestId, meta?.["traceparent"])))
  );
}

/** Adds app names, all problems and any new warning about link URLs to the result. */
async function presentResult(result: JsonObject, call: ToolCall): Promise<JsonObject> {
  const { known, takeAddressNote } = call.keyContext;
  const { linkHost } = known;
  const named = await nameChangedApps(result, call);
  const own = Array.isArray(result["problems"])
    ? (result["problems"] as readonly CallProblem[])
    : [];
  const message = takeAddressNote(
    () => linkHost !== undefined && JSON.stringify(result).includes(linkHost),
  );
  const all = [...own, ...call.problems, ...(message === undefined ? [] : [{ message }])];
  // The embedded service and a tool may report the same problem, so duplicates are removed.
  const echoes = new Set(all.map((problem) => describeWarning(problem.message)));
  const problems = all.filter((problem) => !echoes.has(problem.message));
  return problems.length === 0 ? named : { ...named, problems };
}

function makeCall(tool: string, context: CallContext): ToolCall {
  const { keyContext, requireApproval, approveOverwrite, person, signal, requestId } = context;
  const { realm, key_print, call, access } = keyContext;
  const acted: CallEffect = { hasBegun: false, endpoint: undefined };
  const callApi = async <E extends Endpoint>(
    endpoint: E,
    input: Input<E>,
    options: RequestOptions,
  ): Promise<CallAnswer<E>> => {
    if (endpoint.effect !== "read") Object.assign(acted, { hasBegun: true, endpoint });
    try {
      return await call(endpoint, input, signal, { ...options, requestId });
    } catch (error) {
      throw explainEnd({ tool, endpoint }, error);
    }
  };
  const requireApproved = async (request: ApprovalRequest) => {
    const asker = { ...person, place: describePlace(keyContext), key: nameKey(keyContext) };
    return requireApproval(await addRecent(request, keyContext), keyContext, asker);
  };
  const mayRead = (index: Endpoint) => access.read(index).state !== "denied";
  const readApps = once(() => createProjectApps({ call, signal }, mayRead));
  return {
    showsViews: false,
    answerWithTask: undefined,
    requestId,
    ...context,
    tool,
    get apps() {
      return readApps();
    },
    callApi: (endpoint, input, condition) => callApi(endpoint, input, { condition }),
    callApiFree: (endpoint, input, condition) =>
      callApi(endpoint, input, { condition, isFree: true }),
    acted,
    writer: { realm, key_print, client: person.client ?? null },
    requireApproved,
    approveOverwrite: (describe, carryOut) =>
      approveOverwrite(key_print, { describe, requireApproved, carryOut }),
    problems: [],
    extras: { pictures: [], views: [] },
  };
}

/** Returns the host of the project's links or, if unknown, of the server. */
function describePlace({ known, origin }: KeyContext): string | undefined {
  const { host } = new URL(known.linkHost ?? origin);
  // The embedded service uses a placeholder host name until a host is set.
  return host.endsWith(".invalid") ? undefined : host;
}

/** Returns the end of the key's id, because its start only encodes a time. */
function nameKey({ known, key_print }: KeyContext): string {
  const { keyId } = known;
  return keyId === undefined
    ? key_print.slice(0, shownCharacters)
    : `…${keyId.slice(-shownCharacters)}`;
}

/**
 * Allows a retry only if repeating the call is safe, because the call may have changed something
 * before the error.
 */
function explainInternal({ name, annotations }: Tool, message: string): Failure {
  const { readOnlyHint, idempotentHint } = annotations;
  const effect = readOnlyHint ? "none" : "unknown";
  const retry = readOnlyHint || idempotentHint ? "now" : "never";
  const next = advise("internal", { tool: name, effect, retry });
  return { code: "internal", message, effect, retry, next };
}

export function answerFailure(error: Failure): CallToolResult {
  return { ...toCallResult({ error }), isError: true };
}

/**
 * Includes a result both as text and as structured content, because some clients pass only one of
 * them to the model.
 */
export function toCallResult(result: JsonObject, extras?: ResultExtras): CallToolResult {
  const { pictures, views } = extras ?? { pictures: [], views: [] };
  const structuredContent = showHiddenIn(result) as Record<string, unknown>;
  const [view] = views;
  // Keep the SDK's property order, because some responses are sent without the SDK.
  return {
    // Only the view reads this data, not the model.
    ...(view !== undefined && { _meta: { [viewData]: view } }),
    content: [
      { type: "text", text: JSON.stringify(structuredContent) },
      ...pictures.map(({ data, mimeType }) => {
        return { type: "image" as const, data: Buffer.from(data).toString("base64"), mimeType };
      }),
    ],
    structuredContent,
  };
}
