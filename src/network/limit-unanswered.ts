import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

export type AnswerRequest = (request: IncomingMessage, response: ServerResponse) => void;

/** The most unanswered requests of one connection. */
export const mostUnanswered = 100;

/** What waits behind the first unanswered request of a connection. */
type Pipeline = {
  /** Responses behind the one that has the connection, for started and held requests alike. */
  waiting: number;
  /** Requests of the last chunk that were parsed above the limit, and are not started yet. */
  readonly held: (() => void)[];
  isPaused: boolean;
  isReleasing: boolean;
};

/**
 * Stops reading a connection with 100 unanswered requests until some of them are answered. Node
 * parses a chunk to its end, which can hold thousands of requests, so those above the limit are
 * held. Held requests start 100 per turn of the event loop, and never once the connection is over.
 */
export function limitUnanswered(answer: AnswerRequest): AnswerRequest {
  const pipelines = new WeakMap<Socket, Pipeline>();
  return (request, response) => {
    const { socket } = request;
    // The response has the connection: no other request is unanswered.
    if (response.socket !== null) return answer(request, response);
    const pipeline = pipelines.get(socket) ?? openPipeline(socket);
    pipelines.set(socket, pipeline);
    pipeline.waiting += 1;
    response.once("socket", () => {
      pipeline.waiting -= 1;
      release(pipeline, socket);
    });
    const unanswered = pipeline.waiting + 1;
    if (unanswered >= mostUnanswered) pause(pipeline, socket);
    if (unanswered > mostUnanswered) pipeline.held.push(() => answer(request, response));
    else answer(request, response);
  };
}

function openPipeline(socket: Socket): Pipeline {
  const pipeline: Pipeline = { waiting: 0, held: [], isPaused: false, isReleasing: false };
  // Node resumes a connection after each message, and when its own write buffer drains.
  socket.on("resume", () => {
    if (pipeline.isPaused) socket.pause();
  });
  return pipeline;
}

function pause(pipeline: Pipeline, socket: Socket): void {
  pipeline.isPaused = true;
  socket.pause();
}

function release(pipeline: Pipeline, socket: Socket): void {
  if (!pipeline.isPaused || pipeline.isReleasing) return;
  pipeline.isReleasing = true;
  setImmediate(() => {
    pipeline.isReleasing = false;
    const { held } = pipeline;
    if (socket.destroyed || socket.writableEnded) held.length = 0;
    const started = pipeline.waiting + 1 - held.length;
    for (const start of held.splice(0, mostUnanswered - started)) start();
    if (pipeline.waiting + 1 >= mostUnanswered) return;
    pipeline.isPaused = false;
    socket.resume();
  });
}
