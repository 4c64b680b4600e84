import { shareNext } from "../sql/share-next.ts";
import { foldVisits, type Folding } from "./fold-visits.ts";
import type { Db } from "./tenant.ts";

/** What folds for those who wait, in each store by their projects, while it does. */
const foldings = new WeakMap<Db, Map<string, () => Promise<void>>>();

/**
 * Folds a project's visits for somebody who waits: what is written down by now is folded then. All
 * in this process who come while it is being folded share the next folding: each of their own would
 * hold as many counts, and find most of them taken.
 */
export function foldForReader(store: Folding, projectId: string): Promise<void> {
  const ofStore = foldings.get(store.db) ?? new Map<string, () => Promise<void>>();
  foldings.set(store.db, ofStore);
  const fold =
    ofStore.get(projectId) ??
    shareNext(
      () => foldVisits(store, projectId, { isPatient: false }),
      () => ofStore.delete(projectId),
    );
  ofStore.set(projectId, fold);
  return fold();
}
