import { spawn } from "node:child_process";
import { bundle } from "../support/command.ts";

/** The command in a terminal of its own, which `script` creates. */
export type Terminal = {
  readonly read: (pattern: RegExp) => Promise<string>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export function openTerminal(words: string): Terminal {
  const command = `${process.execPath} ${bundle} ${words}`;
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  let shown = "";
  child.stdout.on("data", (chunk) => (shown += String(chunk)));
  return {
    read: async (pattern) => {
      for (;;) {
        const whole = shown.slice(0, shown.lastIndexOf("\n") + 1);
        const [, found] = pattern.exec(whole) ?? [];
        if (found !== undefined) return found;
        if (child.exitCode !== null) throw new Error(`the command ended without it: ${shown}`);
        await new Promise((resolve) => {
          child.stdout.once("data", resolve);
          void ended.then(resolve);
        });
      }
    },
    [Symbol.asyncDispose]: async () => {
      // `script` forwards the signal and waits for the command.
      child.kill();
      await ended;
    },
  };
}
