import { runCommand } from "./commands/run-command.ts";

/** The process: hands the command what it takes from it, and ends with the command's exit code. */

/** Set by the build, from package.json. */
declare const WAYPOST_VERSION: string;
/** Handed in by start/compiled-program.ts. */
declare const keepCompiled: () => void;

void runCommand(process.argv.slice(2), {
  env: process.env,
  program: process.argv[1] ?? "waypost",
  // A stream is only opened by the commands that read from it.
  get input() {
    return process.stdin;
  },
  waitForStop,
  version: WAYPOST_VERSION,
  keepCompiled,
}).then((code) => (process.exitCode = code));

/** The first SIGTERM or SIGINT asks to finish; after it, another one ends the process at once. */
function waitForStop(): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      process.off("SIGTERM", stop).off("SIGINT", stop);
      resolve();
    };
    process.on("SIGTERM", stop).on("SIGINT", stop);
  });
}
