import type {
  CallToolResult,
  ClientCapabilities,
  InputRequiredResult,
  Notification,
  ProgressToken,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { Leaving } from "../../contract/leaving.ts";
import type { AskedCall } from "../../contract/watch.ts";
import type { KeyContext } from "../access/key-context.ts";
import { nobodyToAsk, PersonAsked, type Person } from "../approval/person-asked.ts";
import { canTakeTasks, type Task } from "../results/job-task.ts";
import { callTool } from "../tools/call-tool.ts";
import { viewExtension, viewType } from "../tools/templates/view-resource.ts";
import type { Progress, Tool } from "../tools/tool.ts";
import { readRequestId, requestIdHeader } from "../../text/request-id.ts";
import { openDialogue } from "./ask-person.ts";
import { nameClient, type Caller } from "./caller.ts";
import type { ServerOptions } from "./server-options.ts";

/** A call as a client makes it, with what that client can do: ask, show, wait, follow progress. */

/** One try at a call, until its person has to be asked. */
type Calling = {
  readonly caller: Caller;
  readonly leaving: Leaving;
  readonly requestId: string;
  readonly meta: AskedCall["meta"];
  readonly person: Person;
  readonly tellProgress: Tell;
};

type Tell = (progress: Progress) => void;

/** Calls the tool; where its person has to be asked first, asks in the way of the client's era. */
export async function answerCall(
  caller: Caller,
  tool: Tool,
  given: unknown,
  context: ServerContext,
  options: ServerOptions,
): Promise<CallToolResult | InputRequiredResult> {
  const { signal: leaving, notify, _meta: meta } = context.mcpReq;
  const tellProgress = prepareProgress(meta?.progressToken, notify);
  const requestId = readRequestId(context.http?.req?.headers.get(requestIdHeader));
  const dialogue = await openDialogue(caller, context, {
    ...options,
    tellWaiting: (seconds) => tellProgress(describeWaiting(seconds)),
  });
  for (;;) {
    try {
      const person = dialogue.readPerson();
      return await callOnce(
        tool,
        given,
        { caller, leaving, requestId, meta, person, tellProgress },
        options,
      );
    } catch (error) {
      if (!(error instanceof PersonAsked)) throw error;
      const question = await dialogue.ask(error);
      if (question !== undefined) return question;
    }
  }
}

/** Throws the question that the client's person has to answer first, if there is one. */
async function callOnce(
  tool: Tool,
  given: unknown,
  { caller, leaving, requestId, meta, person, tellProgress }: Calling,
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

/** A call of a tool that only reads, which asks nobody and reports no progress. */
export async function callReading(
  tool: Tool,
  given: unknown,
  calling: Omit<Calling, "person" | "tellProgress">,
  options: ServerOptions,
): Promise<CallToolResult> {
  await readFresh(options.keyContext);
  const person = { ...nobodyToAsk, client: nameClient(calling.caller) };
  const result = callOnce(tool, given, { ...calling, person, tellProgress: () => {} }, options);
  // Beside the call, as for every call.
  void options.keyContext.explore();
  return result;
}

/** Takes over what is known by now: where links open, and what the key may do. */
export async function readFresh(keyContext: KeyContext): Promise<void> {
  // Addresses in the result are to name what listens by then.
  await keyContext.readListening();
  await keyContext.renew();
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
): Tell {
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
