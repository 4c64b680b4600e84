import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * What the bench has started or made on this machine. Each ends where it is used; where the bench
 * itself is ended before, all that is left ends with it.
 */

const ends = new Set<() => void>();

/** What is left when the process ends, ends with it; said once by the program. */
export function endAllAtExit(): void {
  process.once("exit", () => {
    // The last one stands on those before it.
    for (const end of [...ends].toReversed()) end();
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      process.exitCode = 130;
      process.exit();
    });
  }
}

/** Answers what tells that it has ended by itself. */
export function endAtExit(end: () => void): () => void {
  ends.add(end);
  return () => ends.delete(end);
}

/** A folder for a while. */
type Folder = Disposable & { readonly path: string };

export function makeFolder(): Folder {
  const path = mkdtempSync(join(tmpdir(), "waypost-bench-"));
  const remove = () => rmSync(path, { recursive: true, force: true });
  const removed = endAtExit(remove);
  return {
    path,
    [Symbol.dispose]: () => {
      remove();
      removed();
    },
  };
}
