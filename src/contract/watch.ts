import type { CarriedRequest } from "./api-message.ts";
import type { Endpoint } from "./endpoint.ts";

/** Hooks that report requests and tool calls to metrics and logs. Undefined if both are off. */

/** Called once when the work ends. */
export type EndWatch<Outcome> = (outcome: Outcome) => void;

/**
 * Observes an API request. The outcome is the HTTP status. The endpoint is undefined if the path is
 * unknown.
 */
export type WatchRequest = (
  endpoint: Endpoint | undefined,
  request: CarriedRequest,
) => EndWatch<number>;

/** Observes a tool call. `tool` is undefined if no such tool exists. */
export type WatchCall = (tool: string | undefined, call?: ReceivedCall) => EndWatch<string>;

export type ReceivedCall = {
  /** Unvalidated input from the client. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  readonly requestId?: string | undefined;
};

/** Observes an HTTP request to a link host or to MCP. The outcome is the HTTP status. */
export type WatchHttp = (request: {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}) => EndWatch<number>;

/** Logs an unexpected error. Returns the log line's reference ID, which the response includes. */
export type Report = (error: unknown, requestId?: string, traceparent?: unknown) => string;
