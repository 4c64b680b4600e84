import { isInDoubt } from "../sql/faults.ts";
import type { Sql } from "../sql/sql.ts";
import type { StateTables } from "./tables.ts";

/**
 * Changes that were to be noted, and nobody knows whether they were: so nothing was sent. A row of
 * one that was kept after all looks like a write whose end was never seen, and has to go.
 */
export type UnsentChanges = {
  /** Writes a change down; where its commit is in doubt, it is remembered as one of these. */
  readonly watch: <Change extends Noted>(
    write: (note: (change: Change) => Change) => Promise<Change>,
  ) => Promise<Change>;
  /** Takes their rows away, before anybody reads them; what cannot be taken away now stays. */
  readonly forget: () => Promise<void>;
};

type Noted = { readonly realm: string; readonly id: string };

export function createUnsentChanges({ write }: Sql<StateTables>): UnsentChanges {
  const unsent = new Set<Noted>();
  return {
    watch: async (begin) => {
      let last: Noted | undefined;
      try {
        return await begin((change) => {
          last = change;
          return change;
        });
      } catch (error) {
        if (last !== undefined && isInDoubt(error)) unsent.add(last);
        throw error;
      }
    },
    forget: async () => {
      for (const change of unsent) {
        const { realm, id } = change;
        const drop = write((db) =>
          db.deleteFrom("changes").where("realm", "=", realm).where("id", "=", id).execute(),
        );
        // While the store is away nobody can read it either.
        const isGone = await drop.then(
          () => true,
          () => false,
        );
        if (!isGone) return;
        unsent.delete(change);
      }
    },
  };
}
