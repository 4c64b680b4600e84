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
import type { Answer, Person, PersonAsked } from "../approval/person.ts";
import { writeQuestion } from "../approval/question-text.ts";
import { nameClient, type Caller } from "./caller.ts";
import type { Reply } from "./client-memory.ts";
import type { ServerOptions } from "./server-options.ts";

/**
 * How one call asks the person at the client, by a form or a page. In 2026-07-28 the call ends with
 * the question and is repeated with the answer. In earlier revisions the server asks while the call
 * waits.
 */
export type Dialogue = {
  readonly readPerson: () => Person;
  /** Asks in the way of the client's era. Without an answer of its own the call is made again. */
  readonly ask: (asked: PersonAsked) => Promise<InputRequiredResult | undefined>;
};

type Asking = Pick<ServerOptions, "keyContext" | "awaitDecision" | "clients" | "clock"> & {
  readonly tellWaiting: (seconds: number) => unknown;
};

type Waiting = PersonAsked["waiting"];

/** A target that changes during every question cannot be approved. */
const mostQuestions = 3;
/** Most clients, and what is between them and us, give a call up after a minute. */
const patience_ms = 50_000;

export async function openDialogue(
  caller: Caller,
  context: ServerContext,
  asking: Asking,
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

  async function hear(reply: Reply): Promise<Answer> {
    // A call that has ended also ended its question, which the client may well have shown.
    const isShown = await client.hear(reply, signal.aborted);
    return isShown ? readAnswer(reply) : { token: reply.token, said: "nothing" };
  }

  async function wait(id: string): Promise<InputRequiredResult | undefined> {
    // A client that still waits after the first period has more patience than most.
    const now = clock.monotonic();
    const until = (now < begun + patience_ms ? begun : now) + patience_ms;
    const ended = await awaitDecision(id, { key_print, until, signal, tellWaiting });
    // Makes the client repeat the call by itself.
    if (ended === "open" && isModern) return inputRequired({ requestState: id });
    const isDecided = ended === "decided";
    if (isDecided && !isModern) tellComplete(id, context);
    // What has changed while the person thought about it is read again, and so is what they said.
    const waited = isDecided ? id : undefined;
    person = { ...person, answer: undefined, waited, canOpen: isDecided && person.canOpen };
    return undefined;
  }
}

/** Where the client can show no form, there is no person to ask. */
function canShowForm({ elicitation }: ClientCapabilities): boolean {
  if (elicitation === undefined) return false;
  // Before there were two ways, an empty object meant the form.
  return elicitation.form !== undefined || elicitation.url === undefined;
}

const formName = "approval";
const pageName = "approval_page";

/**
 * The form of an approval's id. Any other value was not made here, and is neither looked up nor
 * remembered.
 */
const approvalId = /^[\w-]{27}$/;

/** What a repeated call brings along (2026-07-28). */
function readReply({ mcpReq }: ServerContext): Reply | undefined {
  const { inputResponses = {} } = mcpReq;
  const state = mcpReq.requestState();
  const token = typeof state === "string" && approvalId.test(state) ? state : "";
  const to = pageName in inputResponses ? "page" : "form";
  const said = inputResponses[to === "page" ? pageName : formName];
  if (said !== undefined) return { to, token, said, action: readAction(said) };
  // A state without an answer comes from a call that waits for its page.
  return token === "" ? undefined : { to: "page", token, said: {}, action: "accept" };
}

function readAction(said: unknown): Reply["action"] {
  return replied.safeParse(said).data?.action;
}

function askModern(waiting: Waiting): InputRequiredResult {
  const params = buildParams(waiting);
  const [name, request] =
    params.mode === "url"
      ? [pageName, inputRequired.elicitUrl({ message: params.message, url: params.url })]
      : [formName, inputRequired.elicit(params)];
  return inputRequired({ inputRequests: { [name]: request }, requestState: waiting.id });
}

/** A client that disconnects, breaks the form or stays silent fails to answer. */
async function askLegacy(waiting: Waiting, { mcpReq }: ServerContext): Promise<Reply> {
  const { id: token, page } = waiting;
  const to = page === undefined ? "form" : "page";
  const { id: relatedRequestId, signal } = mcpReq;
  // The timeout is the life of the question's approval. Over HTTP the question travels with the
  // response to the call, so the client needs no other stream.
  const options = { timeout: limits.approval_ms, signal, relatedRequestId };
  try {
    const said = await mcpReq.elicitInput(buildParams(waiting), options);
    return { to, token, said, action: readAction(said) };
  } catch (error) {
    const code = error instanceof ProtocolError ? error.code : undefined;
    const failure = code === timeoutCode ? "timeout" : "error";
    // A connection that broke, and our own timeout, say nothing about the client.
    const isClients = signal.aborted || code !== undefined;
    return { to, token, said: undefined, ...(isClients && { failure }) };
  }
}

/** As the official SDKs report a request that timed out. */
const timeoutCode = -32001;

/**
 * Clients of earlier revisions may wait for this to tidy up. If the client disconnected, the
 * failure does no harm.
 */
function tellComplete(elicitationId: string, { mcpReq }: ServerContext): void {
  const notification = { method: "notifications/elicitation/complete", params: { elicitationId } };
  mcpReq.notify(notification).catch(() => undefined);
}

function buildParams({
  id,
  question,
  page,
}: Waiting): ElicitRequestFormParams | ElicitRequestURLParams {
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

/** Only an accepted form with the one box ticked is a yes. */
function readAnswer({ to, token, said, action }: Reply): Answer {
  if (to === "form") {
    const count = typedCount.safeParse(said).data?.content.count;
    if (tickedForm.safeParse(said).success) return { token, said: "yes", count };
    return { token, said: action === "accept" ? "unticked" : "no" };
  }
  // Closing the question, or a browser that fails, is no answer.
  return { token, said: action === "accept" ? "opened" : action === "decline" ? "no" : "nothing" };
}

const replied = z.object({ action: z.enum(["accept", "decline", "cancel"]) });
const tickedForm = z.object({
  action: z.literal("accept"),
  content: z.object({ approve: z.literal(true) }),
});
const typedCount = z.object({ content: z.object({ count: z.int() }) });
