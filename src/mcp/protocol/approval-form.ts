import {
  inputRequired,
  type ElicitRequestFormParams,
  type InputRequiredResult,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import type { Answer, PersonAsked } from "../approval/person-asked.ts";

/** The form by which a client asks its person for an approval, in either era's way. */

/** By then the question's approval has expired. */
const answerTimeout_ms = 5 * 60_000;
const answerName = "approval";

export function readAnswer({ mcpReq }: ServerContext): Answer | undefined {
  if (mcpReq.inputResponses === undefined) return undefined;
  const token = mcpReq.requestState();
  return toAnswer(typeof token === "string" ? token : undefined, mcpReq.inputResponses[answerName]);
}

/** Only an accepted form with the one box ticked is a yes. */
function toAnswer(token: string | undefined, form: unknown): Answer {
  const isYes = tickedForm.safeParse(form).success;
  return { token, isYes, count: typedCount.safeParse(form).data?.content.count };
}

const tickedForm = z.object({
  action: z.literal("accept"),
  content: z.object({ approve: z.literal(true) }),
});
const typedCount = z.object({ content: z.object({ count: z.int() }) });

export function askModern(asked: PersonAsked): InputRequiredResult {
  return inputRequired({
    inputRequests: { [answerName]: inputRequired.elicit(buildForm(asked)) },
    requestState: asked.token,
  });
}

/** A client that is gone, that breaks the form or that stays silent says no. */
export async function askLegacy(asked: PersonAsked, { mcpReq }: ServerContext): Promise<Answer> {
  const options = { timeout: answerTimeout_ms, signal: mcpReq.signal };
  try {
    return toAnswer(asked.token, await mcpReq.elicitInput(buildForm(asked), options));
  } catch {
    return { token: asked.token, isYes: false };
  }
}

function buildForm({ message, count }: PersonAsked): ElicitRequestFormParams {
  const description = "Type how many links the first line says.";
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
