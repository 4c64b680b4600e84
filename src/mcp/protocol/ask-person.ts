import {
  inputRequired,
  ProtocolError,
  type ClientCapabilities,
  type ElicitRequestFormParams,
  type ElicitRequestURLParams,
  type InputRequiredResult,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import { limits } from "../../contract/limits.ts";
import type { PersonAnswer, Person, PendingQuestion } from "../approval/require-approval.ts";
import { writeQuestion } from "../approval/question-text.ts";
import { nameClient, type CallingClient } from "./calling-client.ts";
import type { QuestionReply } from "./hidden-questions.ts";
import type { ServerOptions } from "./server-options.ts";

/**
 * Asks the client's user, with a form or a page, during one call. In MCP version 2026-07-28, the
 * question ends the call, and the client repeats the call with the answer. In earlier versions, the
 * call waits for the answer.
 */
export type Dialogue = {
  readonly readPerson: () => Person;
  /**
   * Asks the question. If this returns a result, send it to the client. Otherwise, run the tool
   * again with the new value of `readPerson`.
   */
  readonly ask: (asked: PendingQuestion) => Promise<InputRequiredResult | undefined>;
};

type DialogueOptions = Pick<ServerOptions, "keyContext" | "awaitDecision" | "clients" | "clock"> & {
  readonly reportWaiting: (seconds: number) => unknown;
};

type WaitingApproval = PendingQuestion["waiting"];

/** If the target keeps changing, the call is declined after this many questions. */
const mostQuestions = 3;
/** How long a call waits for a decision. Most clients and proxies time out after a minute. */
const patience_ms = 50_000;

export async function openDialogue(
  caller: CallingClient,
  context: ServerContext,
  asking: DialogueOptions,
): Promise<Dialogue> {
  const { awaitDecision, clock, reportWaiting } = asking;
  const { key_print } = asking.keyContext;
  const { signal } = context.mcpReq;
  const { capabilities, info, isModern } = caller;
  const client = asking.clients.recall(key_print, info);
  const begun = clock.monotonic();
  const firstReply = readReply(context);
  let questions = 0;
  let person: Person = {
    canAnswer: canShowForm(capabilities),
    canOpen: capabilities.elicitation?.url !== undefined,
    answer: firstReply && (await readPersonAnswer(firstReply)),
    waited: undefined,
    client: nameClient(caller),
  };

  return {
    readPerson: () => person,
    ask: async ({ waiting }) => {
      const { id, page, question } = waiting;
      const asked = page === undefined ? question : id;
      if (await client.hidesQuestions(isModern && page === undefined ? question : undefined)) {
        person = { ...person, canAnswer: false, canOpen: false, answer: undefined };
        return undefined;
      }
      if (page?.isOpened === true) client.noteOpened(id);
      if (page !== undefined && client.hasOpened(id)) return wait(id);
      client.noteAsked(asked, id);
      if (isModern) return askModern(waiting);
      const isLast = (questions += 1) > mostQuestions;
      const answer = isLast
        ? ({ token: id, kind: "no" } as const)
        : await readPersonAnswer(await askLegacy(waiting, context));
      person = { ...person, answer };
      if (page === undefined || answer.kind !== "opened") return undefined;
      client.noteOpened(id);
      return wait(id);
    },
  };

  async function readPersonAnswer(reply: QuestionReply): Promise<PersonAnswer> {
    // A cancelled call closes its question, but the user may already have seen it.
    const isShown = await client.noteReply(reply, signal.aborted);
    return isShown ? readAnswer(reply) : { token: reply.token, kind: "nothing" };
  }

  async function wait(id: string): Promise<InputRequiredResult | undefined> {
    // Wait until `patience_ms` after the call began or, if that is past, another `patience_ms`.
    const now = clock.monotonic();
    const until = (now < begun + patience_ms ? begun : now) + patience_ms;
    const ended = await awaitDecision(id, { key_print, until, signal, reportWaiting });
    // This result makes the client repeat the call automatically.
    if (ended === "open" && isModern) return inputRequired({ requestState: id });
    const isDecided = ended === "decided";
    if (isDecided && !isModern) reportComplete(id, context);
    // The tool runs again to read the decision and to check whether the target has changed.
    const waited = isDecided ? id : undefined;
    person = { ...person, answer: undefined, waited, canOpen: isDecided && person.canOpen };
    return undefined;
  }
}

function canShowForm({ elicitation }: ClientCapabilities): boolean {
  if (elicitation === undefined) return false;
  // In early protocol versions, an empty object declares support for forms.
  return elicitation.form !== undefined || elicitation.url === undefined;
}

const formName = "approval";
const pageName = "approval_page";

/** The format of an approval's ID. Other values are ignored. */
const approvalId = /^[\w-]{27}$/;

/** Reads the answer in a repeated call (MCP version 2026-07-28). */
function readReply({ mcpReq }: ServerContext): QuestionReply | undefined {
  const { inputResponses = {} } = mcpReq;
  const state = mcpReq.requestState();
  const token = typeof state === "string" && approvalId.test(state) ? state : "";
  const to = pageName in inputResponses ? "page" : "form";
  const response = inputResponses[to === "page" ? pageName : formName];
  if (response !== undefined) return { to, token, response, action: readAction(response) };
  // A repeated call without an answer waits for the decision on the approval page.
  return token === "" ? undefined : { to: "page", token, response: {}, action: "accept" };
}

function readAction(response: unknown): QuestionReply["action"] {
  return replied.safeParse(response).data?.action;
}

function askModern(waiting: WaitingApproval): InputRequiredResult {
  const params = buildParams(waiting);
  const [name, request] =
    params.mode === "url"
      ? [pageName, inputRequired.elicitUrl({ message: params.message, url: params.url })]
      : [formName, inputRequired.elicit(params)];
  return inputRequired({ inputRequests: { [name]: request }, requestState: waiting.id });
}

/**
 * Asks during the call. The reply has no answer if the client disconnects, sends an invalid form or
 * does not respond.
 */
async function askLegacy(
  waiting: WaitingApproval,
  { mcpReq }: ServerContext,
): Promise<QuestionReply> {
  const { id: token, page } = waiting;
  const to = page === undefined ? "form" : "page";
  const { id: relatedRequestId, signal } = mcpReq;
  // `relatedRequestId` sends the question in the call's own HTTP response, without another stream.
  const options = { timeout: limits.approval_ms, signal, relatedRequestId };
  try {
    const response = await mcpReq.elicitInput(buildParams(waiting), options);
    return { to, token, response, action: readAction(response) };
  } catch (error) {
    const code = error instanceof ProtocolError ? error.code : undefined;
    const failure = code === timeoutCode ? "timeout" : "error";
    // A broken connection or our own timeout does not mean that the client cannot show questions.
    const isClients = signal.aborted || code !== undefined;
    return { to, token, response: undefined, ...(isClients && { failure }) };
  }
}

/** The error code for a timeout in the official SDKs. */
const timeoutCode = -32001;

/**
 * Sends a notification after which some clients with earlier MCP versions close the question.
 * Errors are ignored, because the client may have disconnected.
 */
function reportComplete(elicitationId: string, { mcpReq }: ServerContext): void {
  const notification = { method: "notifications/elicitation/complete", params: { elicitationId } };
  mcpReq.notify(notification).catch(() => undefined);
}

function buildParams({
  id,
  question,
  page,
}: WaitingApproval): ElicitRequestFormParams | ElicitRequestURLParams {
  if (page !== undefined) {
    const next = "The page shows what will happen. Approve or decline it there.";
    const message = `${question.title}\n\n${next}`;
    return { mode: "url", message, url: page.url, elicitationId: id };
  }
  const { count } = question;
  const description = "Type the number of links shown in the first line.";
  return {
    mode: "form",
    message: `${writeQuestion(question)}\n\nDo you approve?`,
    requestedSchema: {
      type: "object",
      properties: {
        approve: { type: "boolean", title: "Approve", description: "Tick this box to approve." },
        ...(count !== undefined && { count: { type: "integer", title: "Count", description } }),
      },
      required: ["approve", ...(count === undefined ? [] : ["count"])],
    },
  };
}

/** Only a form that the user accepted with the box ticked counts as approval. */
function readAnswer({ to, token, response, action }: QuestionReply): PersonAnswer {
  if (to === "form") {
    const count = typedCount.safeParse(response).data?.content.count;
    if (tickedForm.safeParse(response).success) return { token, kind: "yes", count };
    return { token, kind: action === "accept" ? "unticked" : "no" };
  }
  // `cancel` is no answer: the user closed the question, or the browser did not open.
  return { token, kind: action === "accept" ? "opened" : action === "decline" ? "no" : "nothing" };
}

const replied = z.object({ action: z.enum(["accept", "decline", "cancel"]) });
const tickedForm = z.object({
  action: z.literal("accept"),
  content: z.object({ approve: z.literal(true) }),
});
const typedCount = z.object({ content: z.object({ count: z.int() }) });
