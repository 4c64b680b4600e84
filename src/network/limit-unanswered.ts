import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Limits the unanswered requests per connection. A client can send many requests without waiting
 * for responses.
 */

export type AnswerRequest = (request: IncomingMessage, response: ServerResponse) => void;

export const mostUnanswered = 100;
/** The maximum number of held requests on all connections together. */
export const mostHeld = 20_000;

/** The requests of a connection that wait behind its first unanswered request. */
type Pipeline = {
  /** The number of unanswered requests after the first one, including held requests. */
  waiting: number;
  /** Requests above the limit. They are parsed, but not started. */
  readonly held: (() => void)[];
  isPaused: boolean;
  isReleasing: boolean;
};

/**
 * Stops reading from a connection with too many unanswered requests. A chunk that Node has read may
 * contain thousands of requests. Those above the limit are held, and start in batches, one batch
 * per iteration of the event loop. They never start after the connection has closed. If too many
 * requests would be held, the connection is closed.
 */
export function limitUnanswered(answer: AnswerRequest): AnswerRequest {
  const pipelines = new WeakMap<Socket, Pipeline>();
  let heldByAll = 0;

  function openPipeline(socket: Socket): Pipeline {
    const pipeline: Pipeline = { waiting: 0, held: [], isPaused: false, isReleasing: false };
    pipelines.set(socket, pipeline);
    // Pause again, because Node resumes a connection after each message, and when its own write
    // buffer drains.
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
    // Node parses the rest of a chunk even after the connection was closed.
    if (socket.destroyed) return;
    // Node assigns the socket to a response after all earlier responses have been sent.
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
