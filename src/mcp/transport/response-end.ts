import type { CallerSignal } from "../../contract/waiting.ts";

/**
 * Calls `onEnd` once, after the last byte of a response or when the stream breaks. `hasLeft` is
 * whether the client disconnected early. Aborting `signal` ends the stream early.
 */
export async function answerUntilEnd(
  answer: () => Promise<Response>,
  onEnd: (hasLeft: boolean) => void,
  signal?: CallerSignal,
): Promise<Response> {
  try {
    return watchEnd(await answer(), onEnd, signal);
  } catch (error) {
    onEnd(false);
    throw error;
  }
}

/** Only an event stream takes time to end. Every other response is already complete. */
function watchEnd(
  response: Response,
  onEnd: (hasLeft: boolean) => void,
  signal: CallerSignal | undefined,
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
          // The rest of the response is discarded, so errors do not matter.
          reader.cancel().catch(() => undefined);
        };
        if (signal?.aborted === true) close();
        else signal?.addEventListener("abort", close, { once: true });
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
    // The buffer lets a stream end even if its client reads slowly.
    { highWaterMark: 1000 },
  );
  return new Response(watched, response);
}
