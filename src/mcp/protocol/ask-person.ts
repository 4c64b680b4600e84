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
import type { PersonAnswer, Person, PersonAsked } from "../approval/person.ts";
import { writeQuestion } from "../approval/question-text.ts";
import { nameClient, type CallingClient } from "./caller.ts";
import type { QuestionReply } from "./client-memory.ts";
import type { ServerOptions } from "./server-options.ts";

/**
 * Asks the person who uses the client, with a form or a page, during one call. In revision
 * 2026-07-28 the call ends with the question, and the client repeats it with the answer. In earlier
 * revisions the server asks while the call waits.
 */
export type Dialogue = {
  readonly readPerson: () => Person;
  /**
   * Asks the question. A result must be returned to the client. Without one, the tool runs again
   * and reads the new `Person`.
   */
  readonly ask: (asked: PersonAsked) => Promise<InputRequiredResult | undefined>;
};

type DialogueOptions = Pick<ServerOptions, "keyContext" | "awaitDecision" | "clients" | "clock"> & {
  readonly tellWaiting: (seconds: number) => unknown;
};

type WaitingApproval = PersonAsked["waiting"];

/** After so many questions in one call, the answer counts as no: the target keeps changing. */
const mostQuestions = 3;
/** Most clients and proxies give up on a call after a minute. */
const patience_ms = 50_000;

export async function openDialogue(
  caller: CallingClient,
  context: ServerContext,
  asking: DialogueOptions,
): Promise<Dialogue> {
  const { awaitDecision, clock, tellWaiting } = asking;
  const { key_print } = asking.keyContext;
  const { signal } = context.mcpReq;
  const { capabilities, info, isModern } = caller;
  const client = asking.clients.recall(key_print, info);
  const begun = clock.monotonic();
  const brought = readReply(context);
  let questions = 0;
  let person: Person = {
    canAnswer: canShowForm(capabilities),
    canOpen: capabilities.elicitation?.url !== undefined,
    answer: brought && (await hear(brought)),
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
        ? ({ token: id, said: "no" } as const)
        : await hear(await askLegacy(waiting, context));
      person = { ...person, answer };
      if (page === undefined || answer.said !== "opened") return undefined;
      client.noteOpened(id);
      return wait(id);
    },
  };

  async function hear(reply: QuestionReply): Promise<PersonAnswer> {
    // A client that ends a call also closes its question, which the person may have seen.
    const isShown = await client.hear(reply, signal.aborted);
    return isShown ? readAnswer(reply) : { token: reply.token, said: "nothing" };
  }

  async function wait(id: string): Promise<InputRequiredResult | undefined> {
    // A client that is still waiting after the first period is more patient than most.
    const now = clock.monotonic();
    const until = (now < begun + patience_ms ? begun : now) + patience_ms;
    const ended = await awaitDecision(id, { key_print, until, signal, tellWaiting });
    // This result makes the client repeat the call on its own.
    if (ended === "open" && isModern) return inputRequired({ requestState: id });
    const isDecided = ended === "decided";
    if (isDecided && !isModern) tellComplete(id, context);
    // The tool runs again, because the target may have changed in the meantime. It then also reads
    // the decision.
    const waited = isDecided ? id : undefined;
    person = { ...person, answer: undefined, waited, canOpen: isDecided && person.canOpen };
    return undefined;
  }
}

/** Without a form there is no one to ask. */
function canShowForm({ elicitation }: ClientCapabilities): boolean {
  if (elicitation === undefined) return false;
  // Before the protocol had URLs, an empty object meant that forms are supported.
  return elicitation.form !== undefined || elicitation.url === undefined;
}

const formName = "approval";
const pageName = "approval_page";

/**
 * The format of an approval's id. Any other value is not ours, and is neither looked up nor stored.
 */
const approvalId = /^[\w-]{27}$/;

/** The answer in a repeated call (2026-07-28). */
function readReply({ mcpReq }: ServerContext): QuestionReply | undefined {
  const { inputResponses = {} } = mcpReq;
  const state = mcpReq.requestState();
  const token = typeof state === "string" && approvalId.test(state) ? state : "";
  const to = pageName in inputResponses ? "page" : "form";
  const said = inputResponses[to === "page" ? pageName : formName];
  if (said !== undefined) return { to, token, said, action: readAction(said) };
  // A state without an answer: the call is waiting for the page.
  return token === "" ? undefined : { to: "page", token, said: {}, action: "accept" };
}

function readAction(said: unknown): QuestionReply["action"] {
  return replied.safeParse(said).data?.action;
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
 * Asks during the call. If the client disconnects, sends an invalid form or does not respond, the
 * reply has no answer.
 */
async function askLegacy(
  waiting: WaitingApproval,
  { mcpReq }: ServerContext,
): Promise<QuestionReply> {
  const { id: token, page } = waiting;
  const to = page === undefined ? "form" : "page";
  const { id: relatedRequestId, signal } = mcpReq;
  // The question expires with its approval. Over HTTP it travels in the response to the call, so
  // the client needs no other stream.
  const options = { timeout: limits.approval_ms, signal, relatedRequestId };
  try {
    const said = await mcpReq.elicitInput(buildParams(waiting), options);
    return { to, token, said, action: readAction(said) };
  } catch (error) {
    const code = error instanceof ProtocolError ? error.code : undefined;
    const failure = code === timeoutCode ? "timeout" : "error";
    // A broken connection and our own timeout do not show how the client treats questions.
    const isClients = signal.aborted || code !== undefined;
    return { to, token, said: undefined, ...(isClients && { failure }) };
  }
}

/** The code that the official SDKs use for a timeout. */
const timeoutCode = -32001;

/**
 * Some clients of earlier revisions close the question on this notification. A failure does not
 * matter, because a disconnected client needs no notification.
 */
function tellComplete(elicitationId: string, { mcpReq }: ServerContext): void {
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

/** Only an accepted form with its box ticked approves. */
function readAnswer({ to, token, said, action }: QuestionReply): PersonAnswer {
  if (to === "form") {
    const count = typedCount.safeParse(said).data?.content.count;
    if (tickedForm.safeParse(said).success) return { token, said: "yes", count };
    return { token, said: action === "accept" ? "unticked" : "no" };
  }
  // Closing the question or a browser that does not start is not an answer.
  return { token, said: action === "accept" ? "opened" : action === "decline" ? "no" : "nothing" };
}

const replied = z.object({ action: z.enum(["accept", "decline", "cancel"]) });
const tickedForm = z.object({
  action: z.literal("accept"),
  content: z.object({ approve: z.literal(true) }),
});
const typedCount = z.object({ content: z.object({ count: z.int() }) });
