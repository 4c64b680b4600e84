import { INVALID_REQUEST, PARSE_ERROR } from "@modelcontextprotocol/server";
import { readAtMost, type Pause, type WithBody } from "../../network/read-at-most.ts";
import { messageBytes } from "./message-size.ts";
import { respondWithError } from "./refusals.ts";

export type Message = { readonly body: unknown; readonly bytes: number };

const decoder = new TextDecoder();

/** The body is read and parsed here alone, for all that look at it afterwards. */
export async function readMessage(message: WithBody, pause?: Pause): Promise<Message | Response> {
  try {
    const read = await readAtMost(message, messageBytes, pause);
    if (read !== undefined) return { body: JSON.parse(decoder.decode(read)), bytes: read.length };
    return respondWithError(413, INVALID_REQUEST, "The body is longer than 4 MiB.");
  } catch {
    return respondWithError(400, PARSE_ERROR, "The body is not JSON.");
  }
}
