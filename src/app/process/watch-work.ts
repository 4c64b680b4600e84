import type { Config } from "../../config.ts";
import type { EndWatch, WatchCall, WatchHttp, WatchRequest } from "../../contract/watch.ts";
import type { WorkCounts } from "../../metrics/metrics.ts";
import { requestIdHeader, readTraceparent } from "../../text/request-id.ts";
import { clock } from "./embedded.ts";
import type { Log } from "./log.ts";

/** Counts requests, tool calls, visits and MCP messages, and logs them at debug level. */

export type Watches = {
  readonly watchRequest?: WatchRequest;
  readonly watchCall?: WatchCall;
  readonly watchVisit?: WatchHttp;
  readonly watchMcp?: WatchHttp;
};

/** The log contains no text from visitors or assistants. */
export function watchWork(
  log: Log,
  { log: level }: Pick<Config, "log">,
  counts?: WorkCounts,
): Watches {
  const isLogged = level === "debug";
  if (!isLogged && counts === undefined) return {};

  function begin<Outcome>(
    message: string,
    describe: (outcome: Outcome) => object,
    count: ((outcome: Outcome, seconds: number) => void) | undefined,
  ): EndWatch<Outcome> {
    const begun = clock.monotonic();
    return (outcome) => {
      const ms = clock.monotonic() - begun;
      count?.(outcome, ms / 1000);
      if (!isLogged) return;
      log.debug({ ...describe(outcome), ms: Math.round(ms * 1000) / 1000 }, message);
    };
  }

  return {
    watchRequest: (endpoint, request) => {
      const { method, requestId, headers } = request;
      const traceparent = readTraceparent(headers["traceparent"]);
      const facts = { request: requestId, traceparent, method, route: endpoint?.path };
      return begin(
        "request",
        (status: number) => ({ ...facts, status }),
        counts && ((...ended) => counts.countRequest({ endpoint, request }, ...ended)),
      );
    },
    watchCall: (tool, { meta, requestId } = {}) => {
      const traceparent = readTraceparent(meta?.["traceparent"]);
      return begin(
        "tool call",
        (end: string) => ({ request: requestId, traceparent, tool, end }),
        counts && ((...ended) => counts.countCall(tool, ...ended)),
      );
    },
    watchVisit: ({ headers }) => {
      const traceparent = readTraceparent(headers["traceparent"]);
      return begin("visit", (status: number) => ({ traceparent, status }), counts?.countVisit);
    },
    watchMcp: ({ headers }) => {
      const traceparent = readTraceparent(headers["traceparent"]);
      const facts = { request: headers[requestIdHeader]?.toString(), traceparent };
      return begin(
        "message to /mcp",
        (status: number) => ({ ...facts, status }),
        counts?.countMessage,
      );
    },
  };
}
