import { runCommand } from "./commands/run-command.ts";

/** The entry point of the process: runs a command and exits with its code. */

/** Set by the build, from package.json. */
declare const WAYPOST_VERSION: string;
/** Saves the code cache. `start/compiled-program.ts` passes this function. */
declare const keepCompiled: () => void;

void runCommand(process.argv.slice(2), {
  env: process.env,
  program: process.argv[1] ?? "waypost",
  // A getter, because only some commands read stdin.
  get input() {
    return process.stdin;
  },
  waitForStop,
  version: WAYPOST_VERSION,
  keepCompiled,
}).then((code) => (process.exitCode = code));

/**
 * Resolves at the first SIGTERM or SIGINT, for a clean shutdown. A second signal ends the process
 * at once.
 */
function waitForStop(): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      process.off("SIGTERM", stop).off("SIGINT", stop);
      resolve();
    };
    process.on("SIGTERM", stop).on("SIGINT", stop);
  });
}
