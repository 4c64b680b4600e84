const traceparent = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

/** Reads a caller's W3C trace context; undefined if it is invalid, so that it is not logged. */
export function readTraceparent(given: unknown): string | undefined {
  return typeof given === "string" && traceparent.test(given) ? given : undefined;
}
