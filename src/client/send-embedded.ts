import type { ApiReply, ApiRequest } from "../contract/api-message.ts";
import type { Send } from "./send-once.ts";

/** The way to a service in this process: its replies are there at once, and whole. */
export function sendEmbedded(answer: (request: ApiRequest) => Promise<ApiReply>): Send {
  return async (request) => {
    const { status, headers, body } = await answer(request);
    return { status, headers, readBody: () => Promise.resolve(body), discard };
  };
}

/** Nothing is on the way, so there is nothing to stop. */
function discard(): void {}
