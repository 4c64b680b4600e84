import type {
  CallToolResult,
  ClientCapabilities,
  InputRequiredResult,
  Notification,
  ProgressToken,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { CallerSignal } from "../../contract/waiting.ts";
import type { ReceivedCall } from "../../contract/watch.ts";
import { noPerson, PendingQuestion, type Person } from "../approval/require-approval.ts";
import { canTakeTasks, type JobTask } from "../results/job-task.ts";
import { callTool } from "../tools/call-tool.ts";
import { viewExtension, viewType } from "../tools/templates/run-template.ts";
import type { CallProgress, Tool } from "../tools/tool.ts";
import { openDialogue } from "./ask-person.ts";
import { nameClient, type CallingClient } from "./calling-client.ts";
import type { ServerOptions } from "./server-options.ts";

/** Answers the tool calls of clients: runs the tool, reports progress and returns the result. */

/**
 * A client's tool call. `caller` says which features the client supports, such as forms, views and
 * tasks.
 */
export type ClientCall = {
  readonly caller: CallingClient;
  readonly tool: Tool;
  readonly given: unknown;
  readonly signal: CallerSignal;
  readonly requestId: string;
  readonly meta: ReceivedCall["meta"];
  /** Undefined for a read-only tool, because it asks no user and reports no progress. */
  readonly context?: ServerContext;
};

export async function answerCall(
  call: ClientCall,
  options: ServerOptions,
): Promise<CallToolResult | InputRequiredResult> {
  const { keyContext } = options;
  // The result may contain URLs of links and pages, so their base URL is refreshed first.
  await keyContext.readListening();
  await keyContext.renew();
  const { context } = call;
  const answer =
    context === undefined
      ? run(call, { ...noPerson, client: nameClient(call.caller) }, () => {}, options)
      : runAsking(call, context, options);
  // The embedded service reports what a key may do, so only other servers are probed.
  if (keyContext.access.canLearn()) void keyContext.explore();
  return answer;
}

/** Runs the tool, and runs it again after each answer of the user. */
async function runAsking(
  call: ClientCall,
  context: ServerContext,
  options: ServerOptions,
): Promise<CallToolResult | InputRequiredResult> {
  const { _meta: meta, notify } = context.mcpReq;
  const reportProgress = prepareProgress(meta?.progressToken, notify);
  const dialogue = await openDialogue(call.caller, context, {
    ...options,
    reportWaiting: (seconds) => reportProgress(describeWaiting(seconds)),
  });
  for (;;) {
    try {
      return await run(call, dialogue.readPerson(), reportProgress, options);
    } catch (error) {
      if (!(error instanceof PendingQuestion)) throw error;
      const question = await dialogue.ask(error);
      if (question !== undefined) return question;
    }
  }
}

type ReportProgress = (progress: CallProgress) => void;

async function run(
  { caller: { capabilities, isModern }, context: _context, ...call }: ClientCall,
  person: Person,
  reportProgress: ReportProgress,
  options: ServerOptions,
): Promise<CallToolResult> {
  let task: JobTask | undefined;
  // Before MCP version 2026-07-28, a call cannot return a task.
  const takesTasks = isModern && canTakeTasks(capabilities);
  const result = await callTool(call.tool, call.given, {
    ...options,
    ...call,
    person,
    showsViews: canShowViews(capabilities),
    answerWithTask: takesTasks ? (running: JobTask) => (task = running) : undefined,
    reportProgress,
  });
  return task === undefined ? result : answerTask(task);
}

/** The remaining time is unknown, so the reported progress grows only slightly with each second. */
function describeWaiting(seconds: number): CallProgress {
  const message = "Waiting for an answer on the approval page";
  return { progress: seconds / 1000, message };
}

/** The SDK's types lack extension results, but the SDK sends them unchanged. */
function answerTask(task: JobTask): CallToolResult {
  const result: unknown = { resultType: "task", ...task };
  return result as CallToolResult;
}

/**
 * Reports progress if the client sent a progress token. Ignores errors, because the client may have
 * disconnected.
 */
function prepareProgress(
  progressToken: ProgressToken | undefined,
  notify: (notification: Notification) => Promise<void>,
): ReportProgress {
  let last = -1;
  return (progress) => {
    // Progress must not decrease, even though the tool restarts after an answer.
    if (progressToken === undefined || progress.progress <= last) return;
    last = progress.progress;
    const params = { progressToken, ...progress };
    notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
}

/** Whether the client can show HTML in a frame (MCP Apps). */
function canShowViews({ extensions }: ClientCapabilities): boolean {
  const apps: object = extensions?.[viewExtension] ?? {};
  return "mimeTypes" in apps && Array.isArray(apps.mimeTypes) && apps.mimeTypes.includes(viewType);
}
