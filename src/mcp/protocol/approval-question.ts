import {
  inputRequired,
  ProtocolError,
  type ElicitRequestFormParams,
  type InputRequiredResult,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import { limits } from "../../contract/limits.ts";
import type { Answer, Page, PersonAsked } from "../approval/person-asked.ts";

/** A question as it goes to a client, which shows a form or opens a page, and what comes back. */

/** What a client answered; undefined where it failed to. */
export type Reply = {
  readonly to: "form" | "page";
  readonly token: string;
  readonly said: unknown;
  /** The client answered with an error, or that of its own timeout, or ended the call. */
  readonly failure?: "error" | "timeout" | "ended" | undefined;
};

/** What is known of a reply by the time at which it came. */
export type Timing = {
  /** It came sooner than any person reads. */
  readonly isTooSoon: boolean;
  /** It came so late that the client gave up on a form that it has not shown. */
  readonly isGivenUp: boolean;
};

const formName = "approval";
const pageName = "approval_page";

/** What a repeated call brings along (2026-07-28). */
export function readReply({ mcpReq }: ServerContext): Reply | undefined {
  const { inputResponses = {} } = mcpReq;
  const state = mcpReq.requestState();
  const token = typeof state === "string" ? state : "";
  const to = pageName in inputResponses ? "page" : "form";
  const said = inputResponses[to === "page" ? pageName : formName];
  // Without an answer the state alone comes from a call that waits for its page.
  if (said === undefined) return token === "" ? undefined : { to: "page", token, said: opened };
  return { to, token, said };
}

const opened = { action: "accept" };

export function askModern(asked: PersonAsked): InputRequiredResult {
  const { page, token, message } = asked;
  const [name, request] =
    page === undefined
      ? [formName, inputRequired.elicit(buildForm(asked))]
      : [pageName, inputRequired.elicitUrl({ message, url: page.url })];
  return inputRequired({ inputRequests: { [name]: request }, requestState: token });
}

/** Has the client make the call again by itself. */
export function askForPatience({ token }: PersonAsked): InputRequiredResult {
  return inputRequired({ requestState: token });
}

/** A client that is gone, that breaks the form or that stays silent fails to answer. */
export async function askLegacy(asked: PersonAsked, { mcpReq }: ServerContext): Promise<Reply> {
  const { page, token, message } = asked;
  // By then the question's approval has expired.
  // Over HTTP it goes along with the answer to the call: a client need not listen besides.
  const { id: relatedRequestId, signal } = mcpReq;
  const options = { timeout: limits.approval_ms, signal, relatedRequestId };
  const params =
    page === undefined
      ? buildForm(asked)
      : ({ mode: "url", message, url: page.url, elicitationId: page.id } as const);
  const to = page === undefined ? "form" : "page";
  try {
    return { to, token, said: await mcpReq.elicitInput(params, options) };
  } catch (error) {
    return { to, token, said: undefined, failure: signal.aborted ? "ended" : readFailure(error) };
  }
}

/** Undefined for a connection that broke, and for our own timeout. */
function readFailure(error: unknown): Reply["failure"] {
  if (!(error instanceof ProtocolError)) return undefined;
  return error.code === timeoutCode ? "timeout" : "error";
}

/** As the official SDKs report a request that timed out. */
const timeoutCode = -32001;

/** Clients of the earlier revisions may wait for this to tidy up; that one is gone does no harm. */
export function tellComplete({ id }: Page, { mcpReq }: ServerContext): void {
  const params = { elicitationId: id };
  mcpReq.notify({ method: "notifications/elicitation/complete", params }).catch(() => undefined);
}

/** Whether a client gave up on a form that it says it can show, and has not shown. */
export function isHidden({ to, said, failure }: Reply, { isGivenUp }: Timing): boolean {
  if (to !== "form") return false;
  const isCancelled = replied.safeParse(said).data?.action === "cancel";
  return failure === "timeout" || (isGivenUp && (isCancelled || failure !== undefined));
}

/** Only an accepted form with the one box ticked is a yes. */
export function readAnswer(reply: Reply, timing: Timing): Answer {
  const { to, token, said } = reply;
  const { action } = replied.safeParse(said).data ?? {};
  const isFailure = said === undefined;
  if (isHidden(reply, timing)) return { token, said: "nothing" };
  if (timing.isTooSoon && (isFailure || action === "decline" || action === "cancel")) {
    return { token, said: "nothing" };
  }
  if (to === "form") {
    const isYes = tickedForm.safeParse(said).success;
    const count = typedCount.safeParse(said).data?.content.count;
    const isUnticked = !isYes && action === "accept";
    return { token, said: isYes ? "yes" : isUnticked ? "unticked" : "no", count };
  }
  // Whoever closes the question, or whose browser fails, has not said what they think of it.
  return { token, said: action === "accept" ? "opened" : action === "decline" ? "no" : "nothing" };
}

const replied = z.object({ action: z.enum(["accept", "decline", "cancel"]) });
const tickedForm = z.object({
  action: z.literal("accept"),
  content: z.object({ approve: z.literal(true) }),
});
const typedCount = z.object({ content: z.object({ count: z.int() }) });

function buildForm({ message, count }: PersonAsked): ElicitRequestFormParams {
  const description = "Type the number of links shown in the first line.";
  return {
    mode: "form",
    message,
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
