import { randomUUID } from "node:crypto";
import { destination, pino, type Logger } from "pino";
import type { Config } from "../config.ts";

/** JSON lines on stderr. Written at once, so that the last one before an end is not lost. */
export function createLog({ log }: Pick<Config, "log">): Logger {
  return pino({ level: log, base: null }, destination({ dest: 2, sync: true }));
}

/** Notes an unexpected error under a reference that the caller can be told. */
export function createReport(log: Logger): (error: unknown) => string {
  return (error) => {
    const reference = randomUUID().slice(0, 8);
    log.error({ reference, error: describe(error) }, "unexpected error");
    return reference;
  };
}

/** Name, text and place, and never what the request carried. */
function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
