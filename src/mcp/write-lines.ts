import type { Writable } from "node:stream";

/** Writes lines, those that are ready together at once: each write on its own is a system call. */
export function createLineWriter(output: Writable): (line: string) => Promise<void> {
  let lines: string[] = [];
  let written: Promise<void> | undefined;

  function flush(resolve: () => void): void {
    const text = lines.join("");
    lines = [];
    written = undefined;
    // Whoever read our answers may be gone, and then nobody waits for them.
    if (output.destroyed || output.writableEnded) return resolve();
    output.write(text, () => resolve());
  }

  return (line) => {
    lines.push(line);
    written ??= new Promise((resolve) => process.nextTick(flush, resolve));
    return written;
  };
}
