import { foldVisits, type Folding } from "./fold-visits.ts";
import type { Db } from "./tenant.ts";

type Line = {
  last: Promise<void>;
  /** It begins when the last one has ended, and takes along whoever comes until then. */
  next: Promise<void> | undefined;
};

/** The foldings of each store that somebody waits for, by their projects. */
const lines = new WeakMap<Db, Map<string, Line>>();

/**
 * Folds a project's visits for somebody who waits: what is written down by now is folded then. All
 * in this process who come while it is being folded share the next folding: each of their own would
 * hold as many counts, and find most of them taken.
 */
export function foldForReader(store: Folding, projectId: string): Promise<void> {
  const ofStore = lines.get(store.db) ?? new Map<string, Line>();
  lines.set(store.db, ofStore);
  const line = ofStore.get(projectId) ?? { last: Promise.resolve(), next: undefined };
  ofStore.set(projectId, line);

  async function fold(): Promise<void> {
    line.next = undefined;
    try {
      await foldVisits(store, projectId, { isPatient: false });
    } finally {
      if (line.next === undefined) ofStore.delete(projectId);
    }
  }

  // A fault of the last one is told to those who waited for that.
  line.next ??= line.last.then(fold, fold);
  line.last = line.next;
  return line.last;
}
