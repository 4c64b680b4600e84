import type { CarriedRequest } from "./api-message.ts";
import type { Endpoint } from "./endpoint.ts";

/** Hooks through which metrics and the log observe work. They are undefined if both are off. */

/** Called once when the work ends, with its outcome. */
export type EndWatch<Outcome> = (outcome: Outcome) => void;

/** Observes one API request. The outcome is the status; an unknown path has no endpoint. */
export type WatchRequest = (
  endpoint: Endpoint | undefined,
  request: CarriedRequest,
) => EndWatch<number>;

/** Observes one tool call. The name is undefined if no such tool exists. */
export type WatchCall = (tool: string | undefined, call?: ReceivedCall) => EndWatch<string>;

/** What the client sent with a tool call. */
export type ReceivedCall = {
  /** Unchecked, as the client sent it. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  readonly requestId?: string | undefined;
};

/** Observes an HTTP request to a link host or to MCP. The outcome is the status. */
export type WatchHttp = (request: {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}) => EndWatch<number>;

/** Logs an unexpected error and returns the reference that the caller gets. */
export type Report = (error: unknown, requestId?: string, traceparent?: unknown) => string;
