import {
  CLIENT_CAPABILITIES_META_KEY,
  type CallToolResult,
  type ClientCapabilities,
  type InputRequiredResult,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { PersonAsked } from "../approval/person-asked.ts";
import { canTakeTasks, type Task } from "../results/job-task.ts";
import { callTool } from "../tools/call-tool.ts";
import { viewExtension, viewType } from "../tools/templates/view-resource.ts";
import type { Progress, Tool } from "../tools/tool.ts";
import { findAbsent } from "../tools/toolbox.ts";
import { openDialogue } from "./ask-person.ts";
import type { ServerOptions } from "./server-options.ts";

/** A call as a client makes it, with what that client can do: ask, show, wait, follow progress. */

/** Calls the tool; where its person has to be asked first, asks in the way of the client's era. */
export async function answerCall(
  server: Server,
  tool: Tool,
  given: unknown,
  context: ServerContext,
  options: ServerOptions,
): Promise<CallToolResult | InputRequiredResult> {
  const { keyContext, requireApproval, approveOverwrite, report } = options;
  const { signal, envelope } = context.mcpReq;
  const isModern = envelope !== undefined;
  const capabilities = readCapabilities(server, context);
  let task: Task | undefined;
  const showsViews = canShowViews(capabilities);
  // Earlier revisions have no such answer to a call.
  const takesTasks = isModern && canTakeTasks(capabilities);
  const answerWithTask = takesTasks ? (running: Task) => (task = running) : undefined;
  const tellProgress = prepareProgress(context);
  const dialogue = openDialogue(server, context, {
    ...options,
    capabilities,
    tellWaiting: (seconds) => tellProgress(describeWaiting(seconds)),
  });
  for (;;) {
    try {
      const result = await callTool(tool, given, {
        keyContext,
        requireApproval,
        approveOverwrite,
        report,
        person: dialogue.readPerson(),
        signal,
        isAbsent: findAbsent(options.toolbox, keyContext),
        showsViews,
        answerWithTask,
        tellProgress,
      });
      return task === undefined ? result : answerTask(task);
    } catch (error) {
      if (!(error instanceof PersonAsked)) throw error;
      const question = await dialogue.ask(error);
      if (question !== undefined) return question;
    }
  }
}

/** Hardly anything of the call is done, and there is no telling when the person is. */
function describeWaiting(seconds: number): Progress {
  const message = "Waiting for the answer on the approval page";
  return { progress: seconds / 1000, message };
}

/** The SDK names the results of the protocol's core alone; an extension's go the same way. */
function answerTask(task: Task): CallToolResult {
  const result: unknown = { resultType: "task", ...task };
  return result as CallToolResult;
}

/** Only for a client that gave a token. That it may be gone by then does no harm. */
function prepareProgress({ mcpReq }: ServerContext): (progress: Progress) => void {
  const progressToken = mcpReq["_meta"]?.progressToken;
  let last = -1;
  return (progress) => {
    // It may only grow, and work begins anew after a person was waited for.
    if (progressToken === undefined || progress.progress <= last) return;
    last = progress.progress;
    const params = { progressToken, ...progress };
    mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
}

function readCapabilities(server: Server, { mcpReq }: ServerContext): ClientCapabilities {
  // The SDK has validated the envelope, whose members its types do not name.
  const envelope = mcpReq.envelope as Readonly<Record<string, ClientCapabilities>> | undefined;
  if (envelope === undefined) return server.getClientCapabilities() ?? {};
  return envelope[CLIENT_CAPABILITIES_META_KEY] ?? {};
}

/** MCP Apps: the client shows HTML of ours in a frame of its own. */
function canShowViews({ extensions }: ClientCapabilities): boolean {
  const apps: object = extensions?.[viewExtension] ?? {};
  return "mimeTypes" in apps && Array.isArray(apps.mimeTypes) && apps.mimeTypes.includes(viewType);
}
