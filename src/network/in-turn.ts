import type { IncomingMessage, ServerResponse } from "node:http";

export type AnswerRequest = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * A client may send requests before it has the answers to those before, and Node hands all of them
 * over as they come. Here each waits for the answer to the one before. Where that one was the last
 * of its connection, nothing comes of those behind it: their client is never answered, takes them
 * for not done, and asks again (RFC 9112, 9.3.2 and 9.6).
 */
export function inTurn(answer: AnswerRequest): AnswerRequest {
  return (request, response) => {
    const { socket } = response;
    if (socket !== null) {
      // It came after the last answer, before the connection was gone.
      if (!socket.writableEnded) answer(request, response);
      return;
    }
    // Node gives it the connection as soon as the answer before is out, and does not tell.
    const assign = response.assignSocket.bind(response);
    response.assignSocket = (assigned) => {
      assign(assigned);
      answer(request, response);
    };
  };
}
