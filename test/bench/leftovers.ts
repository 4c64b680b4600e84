import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * What the bench has started or made on this machine. Each ends where it is used; where the bench
 * itself is ended before, all that is left ends with it.
 */

const ends = new Set<() => void>();

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

/** Answers what tells that it has ended by itself. */
export function endAtExit(end: () => void): () => void {
  ends.add(end);
  return () => ends.delete(end);
}

/** A folder for a while. */
export function makeFolder(): { readonly path: string; readonly remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), "waypost-bench-"));
  const remove = () => rmSync(path, { recursive: true, force: true });
  const removed = endAtExit(remove);
  return {
    path,
    remove: () => {
      remove();
      removed();
    },
  };
}
