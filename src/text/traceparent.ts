const traceparent = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

/** The W3C trace context that a caller sent. Nothing else that a caller sends reaches the log. */
export function readTraceparent(given: unknown): string | undefined {
  return typeof given === "string" && traceparent.test(given) ? given : undefined;
}
