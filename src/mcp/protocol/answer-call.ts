import {
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  type CallToolResult,
  type ClientCapabilities,
  type ElicitRequestFormParams,
  type InputRequiredResult,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import { PersonAsked, type Answer } from "../approval/ask-person.ts";
import { canTakeTasks, type Task } from "../results/job-task.ts";
import { callTool } from "../tools/call-tool.ts";
import { viewExtension, viewType } from "../tools/templates/view.ts";
import type { Progress, Tool } from "../tools/tool.ts";
import type { ServerOptions } from "./server-options.ts";

/** A call as a client makes it, with what that client can do: ask, show, wait, be told. */

/** An approval is as old as it may get by then. */
const patience_ms = 5 * 60_000;
const mostQuestions = 3;
const answerName = "approval";

/** Calls the tool; where its person has to be asked first, asks in the way of the client's era. */
export async function answerCall(
  server: Server,
  tool: Tool,
  given: unknown,
  context: ServerContext,
  { keyContext, requireApproval, report }: ServerOptions,
): Promise<CallToolResult | InputRequiredResult> {
  const { signal, envelope } = context.mcpReq;
  const isModern = envelope !== undefined;
  const capabilities = readCapabilities(server, context);
  const canAnswer = canShowForm(capabilities);
  const showsViews = canShowViews(capabilities);
  // Earlier revisions have no such answer to a call.
  const takesTasks = isModern && canTakeTasks(capabilities);
  let task: Task | undefined;
  const answerWithTask = takesTasks ? (going: Task) => (task = going) : undefined;
  const tellProgress = prepareProgress(context);
  let answer = readAnswer(context);
  for (let questions = 0; ; questions += 1) {
    try {
      const person = { canAnswer, answer };
      const able = {
        keyContext,
        requireApproval,
        person,
        signal,
        showsViews,
        answerWithTask,
        tellProgress,
        report,
      };
      const result = await callTool(tool, given, able);
      return task === undefined ? result : answerTask(task);
    } catch (error) {
      if (!(error instanceof PersonAsked)) throw error;
      if (isModern) return askModern(error);
      // A target that changes under every question is not approved at all.
      const given = questions < mostQuestions ? await askLegacy(error, context) : undefined;
      answer = { state: error.state, isYes: isYes(given), count: readCount(given) };
    }
  }
}

/** The SDK names the results of the protocol's core alone; an extension's go the same way. */
function answerTask(task: Task): CallToolResult {
  const result: unknown = { resultType: "task", ...task };
  return result as CallToolResult;
}

/** Only for a client that asked to be told; one that is gone by now needs no news. */
function prepareProgress({ mcpReq }: ServerContext): (progress: Progress) => void {
  const progressToken = mcpReq["_meta"]?.progressToken;
  return (progress) => {
    if (progressToken === undefined) return;
    const params = { progressToken, ...progress };
    mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
}

function readCapabilities(server: Server, { mcpReq }: ServerContext): ClientCapabilities {
  // The SDK has validated the envelope, whose members its types do not name.
  const envelope = mcpReq.envelope as Readonly<Record<string, ClientCapabilities>> | undefined;
  const capabilities =
    envelope === undefined
      ? server.getClientCapabilities()
      : envelope[CLIENT_CAPABILITIES_META_KEY];
  return capabilities ?? {};
}

/** MCP Apps: the client shows HTML of ours in a frame of its own. */
function canShowViews({ extensions }: ClientCapabilities): boolean {
  const apps: object = extensions?.[viewExtension] ?? {};
  return "mimeTypes" in apps && Array.isArray(apps.mimeTypes) && apps.mimeTypes.includes(viewType);
}

/** A client without a form that can be shown has nobody there to ask. */
function canShowForm({ elicitation }: ClientCapabilities): boolean {
  if (elicitation === undefined) return false;
  // Before there were two ways, an empty object meant the form.
  return elicitation.form !== undefined || elicitation.url === undefined;
}

function readAnswer({ mcpReq }: ServerContext): Answer | undefined {
  if (mcpReq.inputResponses === undefined) return undefined;
  const state = mcpReq.requestState();
  const given = mcpReq.inputResponses[answerName];
  return {
    state: typeof state === "string" ? state : undefined,
    isYes: isYes(given),
    count: readCount(given),
  };
}

/** Only this is a yes: an accepted form with the one box ticked. */
function isYes(response: unknown): boolean {
  if (typeof response !== "object" || response === null) return false;
  const { action, content } = response as { readonly action?: unknown; readonly content?: unknown };
  if (action !== "accept" || typeof content !== "object" || content === null) return false;
  return "approve" in content && content.approve === true;
}

function readCount(response: unknown): number | undefined {
  const parsed = typedCount.safeParse(response);
  return parsed.data?.content.count;
}

const typedCount = z.object({ content: z.object({ count: z.int() }) });

function askModern(asked: PersonAsked): InputRequiredResult {
  return inputRequired({
    inputRequests: { [answerName]: inputRequired.elicit(buildForm(asked)) },
    requestState: asked.state,
  });
}

/** Nobody there, a broken form and silence are a no. */
async function askLegacy(asked: PersonAsked, { mcpReq }: ServerContext): Promise<unknown> {
  try {
    const options = { timeout: patience_ms, signal: mcpReq.signal };
    return await mcpReq.elicitInput(buildForm(asked), options);
  } catch {
    return undefined;
  }
}

function buildForm({ message, count }: PersonAsked): ElicitRequestFormParams {
  const typed = {
    type: "integer",
    title: "Count",
    description: "Type the number that the message begins with.",
  } as const;
  return {
    mode: "form",
    message,
    requestedSchema: {
      type: "object",
      properties: {
        approve: { type: "boolean", title: "Approve", description: "Tick to let this happen." },
        ...(count !== undefined && { count: typed }),
      },
      required: ["approve", ...(count === undefined ? [] : ["count"])],
    },
  };
}
