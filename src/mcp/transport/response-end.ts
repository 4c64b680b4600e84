/**
 * Answers, and calls `onEnd` once: after the last byte, or if client or answer breaks. It is told
 * whether the client has left before the end.
 */
export async function answerUntilEnd(
  answer: () => Promise<Response>,
  onEnd: (hasLeft: boolean) => void,
): Promise<Response> {
  try {
    return watchEnd(await answer(), onEnd);
  } catch (error) {
    onEnd(false);
    throw error;
  }
}

/** A response that is no stream of events has ended as soon as it is there. */
function watchEnd(response: Response, onEnd: (hasLeft: boolean) => void): Response {
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
  const watched = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await reader.read().catch((error: unknown) => {
        end();
        throw error;
      });
      if (!done) return controller.enqueue(value);
      // A client that left has ended and closed it already.
      if (!hasEnded) controller.close();
      end();
    },
    cancel: async (reason) => {
      end(true);
      await reader.cancel(reason);
    },
  });
  return new Response(watched, response);
}
