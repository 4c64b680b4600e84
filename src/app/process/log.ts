import { randomUUID } from "node:crypto";
import { destination, pino } from "pino";
import type { Config } from "../../config.ts";
import type { Report } from "../../contract/watch.ts";
import { once } from "../../contract/waiting.ts";
import { readTraceparent } from "../../text/request-id.ts";

/** Writes log lines as JSON to stderr. */

type Write = (facts: object, message: string) => void;
export type Log = {
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
};

/**
 * Writes synchronously, so that a crash loses no line. The first line creates the logger, because
 * most sessions log nothing.
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

/** Logs an unexpected error and returns a reference to its log line. */
export function createReport(log: Log): Report {
  return (error, request, traceparent) => {
    const reference = randomUUID().slice(0, 8);
    const known = { request, traceparent: readTraceparent(traceparent) };
    log.error({ reference, ...known, error: describe(error) }, "unexpected error");
    return reference;
  };
}

/** Describes an error by name, message and stack, without the content of a request. */
function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
