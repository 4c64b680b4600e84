/**
 * Tells once when an answer is over: its last byte is out, or nobody reads on. One that is no
 * stream of events is over as it stands.
 */
export function onResponseEnd(response: Response, onEnd: () => void): Response {
  const { body, headers } = response;
  if (body === null || headers.get("content-type") !== "text/event-stream") {
    onEnd();
    return response;
  }
  const reader = body.getReader();
  let isOver = false;
  const end = () => {
    if (!isOver) onEnd();
    isOver = true;
  };
  const watched = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await reader.read().catch((error: unknown) => {
        end();
        throw error;
      });
      if (!done) return controller.enqueue(value);
      // A reader that left has ended and closed it already.
      if (!isOver) controller.close();
      end();
    },
    cancel: async (reason) => {
      end();
      await reader.cancel(reason);
    },
  });
  return new Response(watched, response);
}
