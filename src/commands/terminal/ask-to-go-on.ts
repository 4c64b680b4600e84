import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { UsageFault } from "../../config.ts";
import type { Runtime } from "./command.ts";
import { openScreen } from "./output.ts";

/** Asks for confirmation in the terminal, and listens for signals to stop. */

/** Thrown when the user stops a command, so that the stop is not reported as an error. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

export function listenForStop({ waitForStop }: Pick<Runtime, "waitForStop">): AbortSignal {
  const stop = new AbortController();
  void waitForStop().then(() => stop.abort());
  return stop.signal;
}

export type TerminalInput = Readable & { readonly isTTY?: boolean };

/**
 * Asks for confirmation before a change. Any answer but the exact one rejects the change. To
 * confirm a change of many links, the user types their number.
 */
export async function confirmAtTerminal(
  input: TerminalInput | undefined,
  signal: AbortSignal,
  count?: number,
): Promise<boolean> {
  if (input?.isTTY !== true) {
    throw new UsageFault(
      "nothing was changed: this needs your approval, but stdin is not a terminal; pass --yes to " +
        "approve in advance",
    );
  }
  const screen = openScreen();
  const answer = count === undefined ? "yes" : String(count);
  const why = count === undefined ? "" : ", the number of links,";
  screen.write(`Type ${answer}${why} to continue: `);
  const typed = await readLine(input, signal);
  if (typed === undefined) screen.write("\n");
  if (signal.aborted) throw new Interrupted("stopped before anything was changed");
  return typed?.trim() === answer;
}

/**
 * Reads the next line. Returns undefined if the input ends or the signal is aborted. The terminal
 * keeps its own line editing and Ctrl-C.
 */
async function readLine(input: Readable, signal: AbortSignal): Promise<string | undefined> {
  const reader = createInterface({ input, terminal: false, signal });
  try {
    return await new Promise<string | undefined>((resolve) => {
      reader.once("line", resolve).once("close", () => resolve(undefined));
    });
  } finally {
    reader.close();
  }
}
