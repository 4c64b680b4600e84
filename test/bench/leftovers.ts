import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Removes the bench's processes and folders if it ends before the code that created them. */

const ends = new Set<() => void>();

/** Removes whatever remains when the process exits. Called once, by the program. */
export function endAllAtExit(): void {
  process.once("exit", () => {
    // Later ones may depend on earlier ones.
    for (const end of [...ends].toReversed()) end();
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      process.exitCode = 130;
      process.exit();
    });
  }
}

/** Returns a function that cancels this, for something that has ended by itself. */
export function endAtExit(end: () => void): () => void {
  ends.add(end);
  return () => ends.delete(end);
}

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
