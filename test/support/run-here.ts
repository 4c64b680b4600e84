import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { runCommand } from "../../src/commands/run-command.ts";

export type Finished = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

export const bundle = join(import.meta.dirname, "../../dist/waypost.js");

const { version } = JSON.parse(readFileSync("package.json", "utf8"));

/** One at a time: what a command writes is known by when it is written. */
let last: Promise<unknown> = Promise.resolve();

/** Runs a command in this process, which takes a tenth of what a process of its own does. */
export function runHere(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  const next = last.then(() => captureOutput(words, { ...cleanEnvironment(), ...env }));
  last = next.catch(() => undefined);
  return next;
}

async function captureOutput(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<Finished> {
  const stdout = interceptWrites(process.stdout);
  const stderr = interceptWrites(process.stderr);
  try {
    const code = await runCommand(words, {
      env,
      program: bundle,
      // Not a terminal, and at its end.
      input: Object.assign(Readable.from([]), { isTTY: false }) as unknown as NodeJS.ReadStream,
      waitForStop: () => new Promise(() => {}),
      version,
      keepCompiled: () => {},
    });
    return { code, stdout: stdout.take(), stderr: stderr.take() };
  } finally {
    stdout.restore();
    stderr.restore();
  }
}

function interceptWrites(stream: NodeJS.WriteStream) {
  const original = stream.write.bind(stream);
  let text = "";
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    text += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
    const done = rest.find((value) => typeof value === "function");
    if (typeof done === "function") queueMicrotask(() => done());
    return true;
  };
  return {
    take: () => text,
    restore: () => {
      stream.write = original;
    },
  };
}

/** What the machine has set for its own Waypost is no business of a test. */
export function cleanEnvironment(): Record<string, string | undefined> {
  const entries = Object.entries(process.env);
  return Object.fromEntries(entries.filter(([name]) => !name.startsWith("WAYPOST_")));
}
