import type {
  CallToolResult,
  ClientCapabilities,
  InputRequiredResult,
  Notification,
  ProgressToken,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { Leaving } from "../../contract/leaving.ts";
import type { ReceivedCall } from "../../contract/watch.ts";
import { nobodyToAsk, PersonAsked, type Person } from "../approval/person.ts";
import { canTakeTasks, type Task } from "../results/job-task.ts";
import { callTool } from "../tools/call-tool.ts";
import { viewExtension, viewType } from "../tools/templates/run-template.ts";
import type { Progress, Tool } from "../tools/tool.ts";
import { openDialogue } from "./ask-person.ts";
import { nameClient, type Caller } from "./caller.ts";
import type { ServerOptions } from "./server-options.ts";

/** A call as a client makes it, with what that client can do: ask, show, wait, follow progress. */
export type ClientCall = {
  readonly caller: Caller;
  readonly tool: Tool;
  readonly given: unknown;
  readonly leaving: Leaving;
  readonly requestId: string;
  readonly meta: ReceivedCall["meta"];
  /** Left out for a tool that only reads, which asks nobody and reports no progress. */
  readonly context?: ServerContext;
};

export async function answerCall(
  call: ClientCall,
  options: ServerOptions,
): Promise<CallToolResult | InputRequiredResult> {
  const { keyContext } = options;
  // Addresses in the result must name the current listener.
  await keyContext.readListening();
  await keyContext.renew();
  const { context } = call;
  const answer =
    context === undefined
      ? run(call, { ...nobodyToAsk, client: nameClient(call.caller) }, () => {}, options)
      : runAsking(call, context, options);
  // Runs beside the call, never before it.
  void keyContext.explore();
  return answer;
}

/** Asks the person first if needed, in the way of the client's protocol revision. */
async function runAsking(
  call: ClientCall,
  context: ServerContext,
  options: ServerOptions,
): Promise<CallToolResult | InputRequiredResult> {
  const { _meta: meta, notify } = context.mcpReq;
  const tellProgress = prepareProgress(meta?.progressToken, notify);
  const dialogue = await openDialogue(call.caller, context, {
    ...options,
    tellWaiting: (seconds) => tellProgress(describeWaiting(seconds)),
  });
  for (;;) {
    try {
      return await run(call, dialogue.readPerson(), tellProgress, options);
    } catch (error) {
      if (!(error instanceof PersonAsked)) throw error;
      const question = await dialogue.ask(error);
      if (question !== undefined) return question;
    }
  }
}

type TellProgress = (progress: Progress) => void;

/** Throws the question that the client's person has to answer first, if there is one. */
async function run(
  { caller, tool, given, leaving, requestId, meta }: ClientCall,
  person: Person,
  tellProgress: TellProgress,
  options: ServerOptions,
): Promise<CallToolResult> {
  const { keyContext, requireApproval, approveOverwrite, report, watchCall } = options;
  const { capabilities, isModern } = caller;
  let task: Task | undefined;
  // Earlier revisions have no such answer to a call.
  const takesTasks = isModern && canTakeTasks(capabilities);
  const result = await callTool(tool, given, {
    keyContext,
    requireApproval,
    approveOverwrite,
    report,
    watchCall,
    person,
    leaving,
    requestId,
    meta,
    showsViews: canShowViews(capabilities),
    answerWithTask: takesTasks ? (running: Task) => (task = running) : undefined,
    tellProgress,
  });
  return task === undefined ? result : answerTask(task);
}

/** Hardly anything of the call is done, and there is no telling when the person is. */
function describeWaiting(seconds: number): Progress {
  const message = "Waiting for an answer on the approval page";
  return { progress: seconds / 1000, message };
}

/** The SDK names the results of the protocol's core alone; an extension's go the same way. */
function answerTask(task: Task): CallToolResult {
  const result: unknown = { resultType: "task", ...task };
  return result as CallToolResult;
}

/** Only for a client that gave a token. That it may be gone by then does no harm. */
function prepareProgress(
  progressToken: ProgressToken | undefined,
  notify: (notification: Notification) => Promise<void>,
): TellProgress {
  let last = -1;
  return (progress) => {
    // It may only grow, and work begins anew after a person was waited for.
    if (progressToken === undefined || progress.progress <= last) return;
    last = progress.progress;
    const params = { progressToken, ...progress };
    notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
}

/** MCP Apps: the client shows HTML of ours in a frame of its own. */
function canShowViews({ extensions }: ClientCapabilities): boolean {
  const apps: object = extensions?.[viewExtension] ?? {};
  return "mimeTypes" in apps && Array.isArray(apps.mimeTypes) && apps.mimeTypes.includes(viewType);
}
