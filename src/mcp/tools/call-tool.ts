import type { CallToolResult } from "@modelcontextprotocol/server";
import { listWarnings } from "../../client/read-answer.ts";
import { createProjectApps } from "../../bulk/select/project-apps.ts";
import type { Condition } from "../../contract/condition.ts";
import type { Endpoint, Input, Answer } from "../../contract/endpoint.ts";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import type { Leaving } from "../../contract/leaving.ts";
import type { AskedCall, Report, WatchCall } from "../../contract/watch.ts";
import type { KeyContext } from "../access/key-context.ts";
import { refuseDenied, refuseTakenAway } from "../access/refuse-denied.ts";
import type { ApprovalRequest } from "../approval/question.ts";
import type { ApproveOverwrite } from "../approval/approve-overwrite.ts";
import { PersonAsked, type Person } from "../approval/person.ts";
import type { RequireApproval } from "../approval/require-approval.ts";
import { advise } from "../results/advice-by-code.ts";
import type { CallProblem } from "../results/call-problem.ts";
import type { Task } from "../results/job-task.ts";
import {
  describeFault,
  explainEnd,
  explainOutage,
  ToolFailure,
  type Acted,
  type Failure,
} from "../results/tool-failure.ts";
import { toCallResult, type Extras } from "../results/tool-result.ts";
import { quote } from "../../text/show-hidden.ts";
import { journal, journalWrite } from "./history/journal.ts";
import { addRecent } from "./history/show-change.ts";
import { nameChangedApps } from "./apps.ts";
import { explainBulkError } from "./bulk/bulk-tool.ts";
import type { Call, Progress, Tool } from "./tool.ts";

export type CallContext = {
  readonly keyContext: KeyContext;
  readonly requireApproval: RequireApproval;
  readonly approveOverwrite: ApproveOverwrite;
  readonly person: Person;
  /** The client, which may wait no longer. */
  readonly leaving: Leaving;
  /** Whether the client shows the view of a tool. */
  readonly showsViews?: boolean;
  /** Where the client takes a task for an answer: called with the task that runs on. */
  readonly answerWithTask?: ((task: Task) => unknown) | undefined;
  readonly tellProgress?: (progress: Progress) => unknown;
  /** Notes an unexpected error where the operator looks, and answers its reference. */
  readonly report: Report;
  /** By what the call is known in logs, here and where it leads. */
  readonly requestId?: string;
  /** What its client sent along with the call. */
  readonly meta?: AskedCall["meta"];
  readonly watchCall?: WatchCall | undefined;
};

/** Beside the context, and not spread into it: a wide object that grows costs more than a read. */
type Running = {
  readonly context: CallContext;
  readonly tool: Tool;
  readonly args: JsonObject;
  /** What is wrong beside a success. */
  readonly problems: CallProblem[];
  /** What the server warned of. */
  readonly warnings: Set<string>;
  readonly acted: Acted;
};

/** Enough to tell a few keys apart. */
const shownCharacters = 8;

/** The end of the id that `waypost keys list` shows, for its beginning is only a time. */
function nameKey({ known, key_print }: KeyContext): string {
  const { keyId } = known;
  return keyId === undefined
    ? key_print.slice(0, shownCharacters)
    : `…${keyId.slice(-shownCharacters)}`;
}

/**
 * One call of a tool, from what the client sent to what it gets: always a result, or, thrown, the
 * question that a person has to answer first.
 */
export async function callTool(
  tool: Tool,
  given: unknown,
  context: CallContext,
): Promise<CallToolResult> {
  const endWatch = context.watchCall?.(tool.name, context);
  const acted: Acted = { hasBegun: false, endpoint: undefined };
  try {
    const denied = tool.readAccess(context.keyContext.access);
    if (denied.state === "denied") throw refuseDenied({ tool: tool.name }, denied);
    const args = tool.check(given);
    const extras: Extras = { pictures: [], views: [] };
    const running = { context, tool, args, acted, problems: [], warnings: new Set<string>() };
    const call = makeCall(running, extras);
    const result = await presentResult(await tool.run(args, call), running, call);
    endWatch?.("ok");
    return toCallResult(result, extras);
  } catch (error) {
    if (error instanceof PersonAsked) {
      // The call begins anew with the answer.
      endWatch?.("asked");
      throw error;
    }
    const failure = explainError(error, tool, acted, context);
    endWatch?.(failure.code);
    return answerFailure(failure);
  }
}

function explainError(
  error: unknown,
  tool: Tool,
  acted: Acted,
  { report, requestId, meta }: CallContext,
): Failure {
  const end = explainBulkError(tool.name, explainEnd({ tool: tool.name }, error));
  if (end instanceof ToolFailure) return end.failure;
  return (
    explainOutage(error, tool, acted) ??
    explainInternal(tool, describeFault(report(error, requestId, meta?.["traceparent"])))
  );
}

const mostWarnings = 5;
const mostCharacters = 500;

/** The result as the assistant reads it: its apps by their names, and everything that is wrong. */
async function presentResult(
  result: JsonObject,
  { context, problems, warnings }: Running,
  call: Call,
): Promise<JsonObject> {
  const named = await nameChangedApps(result, call);
  const own = Array.isArray(result["problems"]) ? (result["problems"] as readonly unknown[]) : [];
  const known = [...own, ...problems];
  const isKnown = (text: string) =>
    known.some((problem) => isJsonObject(problem) && problem["message"] === text);
  const news = [...warnings].filter((text) => !isKnown(text)).slice(0, mostWarnings);
  const warned = news.map((text) => {
    return { message: `The server warned: ${quote(text, mostCharacters)}` };
  });
  const all = [...known, ...warned, ...noteAddresses(result, context)];
  return all.length === 0 ? named : { ...named, problems: all };
}

/** The first result with a link's address says if nothing serves it, or not for long. */
function noteAddresses(result: JsonObject, { keyContext }: CallContext): readonly CallProblem[] {
  const { linkHost } = keyContext.known;
  const message = keyContext.takeAddressNote(
    () => linkHost !== undefined && JSON.stringify(result).includes(linkHost),
  );
  return message === undefined ? [] : [{ message }];
}

function makeCall(running: Running, extras: Extras): Call {
  const { context, tool } = running;
  const { keyContext, requireApproval, approveOverwrite, leaving, report } = context;
  const approve = async (request: ApprovalRequest) =>
    requireApproval(await addRecent(request, keyContext), keyContext, describePerson(running));
  const asking: Call["ask"] = (endpoint, input, condition) =>
    ask(endpoint, input, running, { condition });
  const { realm, key_print, call, access } = keyContext;
  const apps = createProjectApps(
    { call, signal: leaving },
    (index) => access.read(index).state !== "denied",
  );
  const writer = { realm, key_print, client: context.person.client ?? null };
  const journaling = { ask: asking, keyContext, tool: tool.name, writer, report };
  return {
    keyContext,
    signal: leaving,
    apps,
    requestId: context.requestId,
    ask: asking,
    askFree: (endpoint, input, condition) =>
      ask(endpoint, input, running, { condition, isFree: true }),
    noteActing: () => {
      running.acted.hasBegun = true;
    },
    requireAct: (endpoint) => {
      if (!keyContext.isActAllowed(endpoint)) throw refuseTakenAway(endpoint);
    },
    requireBudget: async (endpoint) => {
      await keyContext.requireBudget(endpoint).catch((error: unknown) => {
        throw explainEnd({ tool: tool.name, endpoint }, error);
      });
    },
    write: (endpoint, input, known) => journalWrite(endpoint, input, known, journaling),
    journal: (begun, steps) => journal(begun, steps, journaling),
    writer,
    approve,
    approveOverwrite: (describe) => approveOverwrite(keyContext.key_print, describe, approve),
    addProblems: (problems) => running.problems.push(...problems),
    attachPicture: (picture) => extras.pictures.push(picture),
    attachView: context.showsViews === true ? (data) => extras.views.push(data) : undefined,
    tellProgress: (progress) => context.tellProgress?.(progress),
    takesTasks: context.answerWithTask !== undefined,
    answerWithTask: (task) => context.answerWithTask?.(task),
  };
}

function describePerson({ context: { person, keyContext } }: Running): Person {
  return { ...person, place: describePlace(keyContext), key: nameKey(keyContext) };
}

/** Where the links of a key live, as far as that is known, or else the deployment. */
function describePlace({ known, origin }: KeyContext): string | undefined {
  const { host } = new URL(known.linkHost ?? origin);
  // The service in this process has a name that stands for no place.
  return host.endsWith(".invalid") ? undefined : host;
}

async function ask<E extends Endpoint>(
  endpoint: E,
  input: Input<E>,
  { context: { keyContext, leaving, requestId }, tool, warnings, acted }: Running,
  options: { readonly condition?: Condition | undefined; readonly isFree?: boolean },
): Promise<Answer<E>> {
  if (endpoint.effect !== "read") Object.assign(acted, { hasBegun: true, endpoint });
  try {
    const body = await keyContext.call(endpoint, input, leaving, { ...options, requestId });
    for (const text of listWarnings(body)) warnings.add(text);
    return body;
  } catch (error) {
    throw explainEnd({ tool: tool.name, endpoint }, error);
  }
}

/** It is unknown how far the call came, so that a second one could do the same twice. */
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
