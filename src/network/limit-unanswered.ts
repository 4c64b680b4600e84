import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Limits the unanswered requests per connection, because clients can send many without waiting. */

export type AnswerRequest = (request: IncomingMessage, response: ServerResponse) => void;

/** The maximum number of unanswered requests per connection. */
export const mostUnanswered = 100;
/** The maximum number of held requests, over all connections. */
export const mostHeld = 20_000;

/** The requests that wait behind the first unanswered request of a connection. */
type Pipeline = {
  /** The number of responses that wait behind the current one, including those of held requests. */
  waiting: number;
  /** Requests above the limit, which are parsed but not started. */
  readonly held: (() => void)[];
  isPaused: boolean;
  isReleasing: boolean;
};

/**
 * Stops reading from a connection with too many unanswered requests. Node parses a whole chunk,
 * which can contain thousands of requests; those above the limit are held. They start in batches,
 * one per iteration of the event loop, and never after the connection has closed. If too many
 * requests would be held, the connection is closed.
 */
export function limitUnanswered(answer: AnswerRequest): AnswerRequest {
  const pipelines = new WeakMap<Socket, Pipeline>();
  let heldByAll = 0;

  function openPipeline(socket: Socket): Pipeline {
    const pipeline: Pipeline = { waiting: 0, held: [], isPaused: false, isReleasing: false };
    pipelines.set(socket, pipeline);
    // Node resumes a connection after each message, and when its own write buffer drains.
    socket.on("resume", () => {
      if (pipeline.isPaused) socket.pause();
    });
    socket.once("close", () => takeHeld(pipeline, pipeline.held.length));
    return pipeline;
  }

  function takeHeld({ held }: Pipeline, most: number): readonly (() => void)[] {
    const taken = held.splice(0, Math.max(0, most));
    heldByAll -= taken.length;
    return taken;
  }

  function release(pipeline: Pipeline, socket: Socket): void {
    if (!pipeline.isPaused || pipeline.isReleasing) return;
    pipeline.isReleasing = true;
    setImmediate(() => {
      pipeline.isReleasing = false;
      if (socket.destroyed || socket.writableEnded) takeHeld(pipeline, pipeline.held.length);
      const started = pipeline.waiting + 1 - pipeline.held.length;
      for (const start of takeHeld(pipeline, mostUnanswered - started)) start();
      if (pipeline.waiting + 1 >= mostUnanswered) return;
      pipeline.isPaused = false;
      socket.resume();
    });
  }

  return (request, response) => {
    const { socket } = request;
    // Node parses the rest of a chunk even after its connection was closed.
    if (socket.destroyed) return;
    // Only the first unanswered response has the socket, so no request is before this one.
    if (response.socket !== null) return answer(request, response);
    const pipeline = pipelines.get(socket) ?? openPipeline(socket);
    pipeline.waiting += 1;
    response.once("socket", () => {
      pipeline.waiting -= 1;
      release(pipeline, socket);
    });
    const unanswered = pipeline.waiting + 1;
    if (unanswered >= mostUnanswered) pause(pipeline, socket);
    if (unanswered <= mostUnanswered) return answer(request, response);
    if (heldByAll >= mostHeld) return void socket.destroy();
    heldByAll += 1;
    pipeline.held.push(() => answer(request, response));
  };
}

function pause(pipeline: Pipeline, socket: Socket): void {
  pipeline.isPaused = true;
  socket.pause();
}
