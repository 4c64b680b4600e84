import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { UsageFault } from "../../config.ts";
import type { Host } from "./command.ts";
import { openScreen } from "./output.ts";
import type { Screen } from "./progress-bar.ts";

export type Confirmation = {
  readonly input: Readable;
  readonly screen: Screen;
  /** The number that has to be typed, where many links would change. */
  readonly count: number | undefined;
  /** Aborted when an answer is no longer waited for. */
  readonly signal: AbortSignal;
};

/** Stopped by the person: not done, and not an error. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

type Person = Pick<Confirmation, "count" | "signal"> & {
  /** Where a person types; undefined where no person can be asked. */
  readonly input: Readable | undefined;
};

/** Asks whoever sits at the terminal, before anything was changed. */
export async function confirmAtTerminal({ input, count, signal }: Person): Promise<boolean> {
  if (input === undefined) {
    throw new UsageFault(
      "nothing was changed: this needs your approval, but stdin is not a terminal; pass --yes to " +
        "approve in advance",
    );
  }
  const isMeant = await askToGoOn({ input, screen: openScreen(), count, signal });
  if (signal.aborted) throw new Interrupted("stopped before anything was changed");
  return isMeant;
}

/** The same for a command that holds nothing open: whoever stops it is not waited for. */
export function confirmUntilStopped({ input, waitForStop }: Host): Promise<boolean> {
  const person = input.isTTY ? input : undefined;
  return confirmAtTerminal({
    input: person,
    count: undefined,
    signal: listenForStop(waitForStop()),
  });
}

/** Aborted when the person stops the command. */
export function listenForStop(stopped: Promise<void>): AbortSignal {
  const stop = new AbortController();
  void stopped.then(() => stop.abort());
  return stop.signal;
}

/** Asks whether to go on. Anything but the very answer means no. */
export async function askToGoOn({ input, screen, count, signal }: Confirmation): Promise<boolean> {
  const wanted = count === undefined ? "yes" : String(count);
  const why = count === undefined ? "" : ", the number of links,";
  screen.write(`Type ${wanted}${why} to continue: `);
  const typed = await readLine(input, signal);
  if (typed === undefined) screen.write("\n");
  return typed?.trim() === wanted;
}

/**
 * The next line; undefined where the input ends first, or the signal is aborted. The terminal
 * keeps its own way of editing a line, and of sending Ctrl-C.
 */
function readLine(input: Readable, signal: AbortSignal): Promise<string | undefined> {
  const reader = createInterface({ input, terminal: false });
  const end = () => reader.close();
  signal.addEventListener("abort", end, { once: true });
  return new Promise<string | undefined>((resolve) => {
    reader.once("line", resolve).once("close", () => resolve(undefined));
    if (signal.aborted) end();
  }).finally(() => {
    signal.removeEventListener("abort", end);
    reader.close();
  });
}
