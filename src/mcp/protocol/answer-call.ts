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

/** By then the question's approval has expired. */
const answerTimeout_ms = 5 * 60_000;
const mostQuestions = 3;
const answerName = "approval";

/** Calls the tool; where its person has to be asked first, asks in the way of the client's era. */
export async function answerCall(
  server: Server,
  tool: Tool,
  given: unknown,
  context: ServerContext,
  options: ServerOptions,
): Promise<CallToolResult | InputRequiredResult> {
  const { signal, envelope } = context.mcpReq;
  const isModern = envelope !== undefined;
  const capabilities = readCapabilities(server, context);
  let task: Task | undefined;
  const client = {
    signal,
    showsViews: canShowViews(capabilities),
    // Earlier revisions have no such answer to a call.
    answerWithTask:
      isModern && canTakeTasks(capabilities) ? (running: Task) => (task = running) : undefined,
    tellProgress: prepareProgress(context),
  };
  const canAnswer = canShowForm(capabilities);
  let answer = readAnswer(context);
  for (let questions = 0; ; questions += 1) {
    try {
      const person = { canAnswer, answer };
      const result = await callTool(tool, given, { ...options, ...client, person });
      return task === undefined ? result : answerTask(task);
    } catch (error) {
      if (!(error instanceof PersonAsked)) throw error;
      if (isModern) return askModern(error);
      // A target that changes under every question is not approved at all.
      const form = questions < mostQuestions ? await askLegacy(error, context) : undefined;
      answer = toAnswer(error.state, form);
    }
  }
}

/** The SDK names the results of the protocol's core alone; an extension's go the same way. */
function answerTask(task: Task): CallToolResult {
  const result: unknown = { resultType: "task", ...task };
  return result as CallToolResult;
}

/** Only for a client that asked to be told. One that is gone by then needs not be told. */
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
  if (envelope === undefined) return server.getClientCapabilities() ?? {};
  return envelope[CLIENT_CAPABILITIES_META_KEY] ?? {};
}

/** MCP Apps: the client shows HTML of ours in a frame of its own. */
function canShowViews({ extensions }: ClientCapabilities): boolean {
  const apps: object = extensions?.[viewExtension] ?? {};
  return "mimeTypes" in apps && Array.isArray(apps.mimeTypes) && apps.mimeTypes.includes(viewType);
}

/** Where the client can show no form, there is no person to ask. */
function canShowForm({ elicitation }: ClientCapabilities): boolean {
  if (elicitation === undefined) return false;
  // Before there were two ways, an empty object meant the form.
  return elicitation.form !== undefined || elicitation.url === undefined;
}

function readAnswer({ mcpReq }: ServerContext): Answer | undefined {
  if (mcpReq.inputResponses === undefined) return undefined;
  const state = mcpReq.requestState();
  return toAnswer(typeof state === "string" ? state : undefined, mcpReq.inputResponses[answerName]);
}

/** Only an accepted form with the one box ticked is a yes. */
function toAnswer(state: string | undefined, form: unknown): Answer {
  const isYes = tickedForm.safeParse(form).success;
  return { state, isYes, count: typedCount.safeParse(form).data?.content.count };
}

const tickedForm = z.object({
  action: z.literal("accept"),
  content: z.object({ approve: z.literal(true) }),
});
const typedCount = z.object({ content: z.object({ count: z.int() }) });

function askModern(asked: PersonAsked): InputRequiredResult {
  return inputRequired({
    inputRequests: { [answerName]: inputRequired.elicit(buildForm(asked)) },
    requestState: asked.state,
  });
}

/** A client that is gone, that breaks the form or that stays silent says no. */
async function askLegacy(asked: PersonAsked, { mcpReq }: ServerContext): Promise<unknown> {
  try {
    const options = { timeout: answerTimeout_ms, signal: mcpReq.signal };
    return await mcpReq.elicitInput(buildForm(asked), options);
  } catch {
    return undefined;
  }
}

function buildForm({ message, count }: PersonAsked): ElicitRequestFormParams {
  const description = "Type the number that the message begins with.";
  return {
    mode: "form",
    message,
    requestedSchema: {
      type: "object",
      properties: {
        approve: { type: "boolean", title: "Approve", description: "Tick to let this happen." },
        ...(count !== undefined && { count: { type: "integer", title: "Count", description } }),
      },
      required: ["approve", ...(count === undefined ? [] : ["count"])],
    },
  };
}
