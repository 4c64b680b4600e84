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

/**
 * Runs a command in this process, which takes a tenth of what a process of its own does. With
 * `typed`, a person sits at a terminal and types that.
 */
export function runHere(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
  typed?: Iterable<string>,
): Promise<Finished> {
  const next = last.then(() => captureOutput(words, { ...cleanEnvironment(), ...env }, typed));
  last = next.catch(() => undefined);
  return next;
}

async function captureOutput(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  typed: Iterable<string> | undefined,
): Promise<Finished> {
  const stdout = interceptWrites(process.stdout);
  const stderr = interceptWrites(process.stderr);
  try {
    const code = await runCommand(words, {
      env,
      program: bundle,
      input: createInput(typed),
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

/** Standard input: a terminal with the given lines, or an empty stream without a terminal. */
function createInput(typed: Iterable<string> | undefined): NodeJS.ReadStream {
  const input = Readable.from(typed ?? []);
  // Commands only read from it, and look whether it is a terminal.
  return Object.assign(input, { isTTY: typed !== undefined }) as unknown as NodeJS.ReadStream;
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
