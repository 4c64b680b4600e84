import { randomUUID } from "node:crypto";
import { destination, pino } from "pino";
import type { Config } from "../../config.ts";
import type { Report } from "../../contract/watch.ts";
import { once } from "../../mcp/schemas/once.ts";
import { readTraceparent } from "../../text/request-id.ts";

type Write = (facts: object, message: string) => void;
export type Log = {
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
};

/**
 * Writes JSON lines to stderr, each at once, so that the last one before an end is not lost. The
 * first line opens the log, because most sessions log nothing.
 */
export function createLog({ log }: Pick<Config, "log">): Log {
  const open = once(() => pino({ level: log, base: null }, destination({ dest: 2, sync: true })));
  return {
    debug: (facts, message) => open().debug(facts, message),
    info: (facts, message) => open().info(facts, message),
    warn: (facts, message) => open().warn(facts, message),
    error: (facts, message) => open().error(facts, message),
  };
}

/** Logs an unexpected error under a reference that the caller gets. */
export function createReport(log: Log): Report {
  return (error, request, traceparent) => {
    const reference = randomUUID().slice(0, 8);
    const known = { request, traceparent: readTraceparent(traceparent) };
    log.error({ reference, ...known, error: describe(error) }, "unexpected error");
    return reference;
  };
}

/** Describes the error's name, text and place, and never the content of a request. */
function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
