import type { CarriedRequest } from "./api-message.ts";
import type { Endpoint } from "./endpoint.ts";

/** Hooks by which metrics and the log observe work. They are left out where neither is on. */

/** Called once when the work ends, with an outcome that no caller chose. */
export type EndWatch<Outcome> = (outcome: Outcome) => void;

/** One request of the API; its outcome is the status. An unknown path has no endpoint. */
export type WatchRequest = (
  endpoint: Endpoint | undefined,
  request: CarriedRequest,
) => EndWatch<number>;

/** One call of a tool, by its name; undefined for a name that no tool has. */
export type WatchCall = (tool: string | undefined, asked?: AskedCall) => EndWatch<string>;

/** What came with a call. */
export type AskedCall = {
  /** As its client sent it: anything may be in it. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  readonly requestId?: string | undefined;
};

/** One HTTP request that is not the API's: to a link host, or to MCP. Its outcome is the status. */
export type WatchHttp = (request: {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}) => EndWatch<number>;

/** Logs an unexpected error, and returns the reference that its caller is given. */
export type Report = (error: unknown, requestId?: string, traceparent?: unknown) => string;
