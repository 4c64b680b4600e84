import type { Leaving } from "../../contract/leaving.ts";

/**
 * Answers, and calls `onEnd` once: after the last byte, or if client or answer breaks. It is told
 * whether the client has left before the end. A stream ends as soon as nobody waits for what is
 * still to come.
 */
export async function answerUntilEnd(
  answer: () => Promise<Response>,
  onEnd: (hasLeft: boolean) => void,
  givenUp?: Leaving,
): Promise<Response> {
  try {
    return watchEnd(await answer(), onEnd, givenUp);
  } catch (error) {
    onEnd(false);
    throw error;
  }
}

/** A response that is no stream of events has ended as soon as it is there. */
function watchEnd(
  response: Response,
  onEnd: (hasLeft: boolean) => void,
  givenUp: Leaving | undefined,
): Response {
  const { body, headers } = response;
  if (body === null || headers.get("content-type") !== "text/event-stream") {
    onEnd(false);
    return response;
  }
  const reader = body.getReader();
  let hasEnded = false;
  const end = (hasLeft = false) => {
    if (!hasEnded) onEnd(hasLeft);
    hasEnded = true;
  };
  const watched = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const close = () => {
          if (hasEnded) return;
          end();
          controller.close();
          // The rest of the body has no reader; a failure to cancel it changes nothing.
          reader.cancel().catch(() => undefined);
        };
        if (givenUp?.aborted === true) close();
        else givenUp?.addEventListener("abort", close, { once: true });
      },
      pull: async (controller) => {
        const { done, value } = await reader.read().catch((error: unknown) => {
          end();
          throw error;
        });
        if (hasEnded) return;
        if (!done) return controller.enqueue(value);
        controller.close();
        end();
      },
      cancel: async (reason) => {
        end(true);
        await reader.cancel(reason);
      },
    },
    // Its end is seen without waiting for a client that reads slowly.
    { highWaterMark: 1000 },
  );
  return new Response(watched, response);
}
