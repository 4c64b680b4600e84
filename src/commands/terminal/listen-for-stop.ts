import type { Config } from "../../config.ts";

/** A command that a person can stop, such as with Ctrl-C. */
export type StoppableCommand = {
  readonly config: Config;
  /** Resolves when the person stops the command. */
  readonly stopped: Promise<void>;
};

/** Aborted when the person stops the command. */
export function listenForStop(stopped: Promise<void>): AbortSignal {
  const stop = new AbortController();
  void stopped.then(() => stop.abort());
  return stop.signal;
}
