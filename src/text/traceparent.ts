/** Reads the trace context of a caller. */
const traceparent = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

/** Returns a valid W3C trace context, or undefined, so that only valid ones reach the log. */
export function readTraceparent(given: unknown): string | undefined {
  return typeof given === "string" && traceparent.test(given) ? given : undefined;
}
