import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import type { Db, StateTables } from "./tables.ts";

/**
 * What a key may do at a deployment elsewhere, as far as it was learned there, by whichever process
 * of the folder: the next start knows it at once. A key is known here by its print alone.
 */
export type KnownAccess = {
  /** What still holds. */
  readonly recall: (place: AccessPlace) => Promise<readonly KnownTool[]>;
  /** Takes the place of what was known of these tools. */
  readonly remember: (place: AccessPlace, learned: readonly KnownTool[]) => Promise<void>;
};

type AccessPlace = { readonly key_print: string; readonly origin: string };

export type KnownTool = {
  readonly tool: string;
  /** Unknown where the deployment answered what tells nothing, and is not asked again. */
  readonly state: "granted" | "denied" | "unknown";
  /** The deployment's own words. */
  readonly reason: string | null;
  /** Whether the answer tells which kind of key it is. */
  readonly shows_kind: boolean;
  /** When it was learned, and until when it counts. */
  readonly at: number;
  readonly until: number;
};

export function createKnownAccess(
  { db, write }: Sql<StateTables>,
  { now }: Pick<Clock, "now">,
): KnownAccess {
  return {
    recall: async ({ key_print, origin }) => {
      const time = now();
      const rows = await db
        .selectFrom("known_access")
        .select(["tool", "state", "reason", "shows_kind", "at", "until"])
        .where("key_print", "=", key_print)
        .where("origin", "=", origin)
        // What lies in the future was written before the clock was set back.
        .where("at", "<=", time)
        .where("until", ">", time)
        .execute();
      return rows.map((row) => ({ ...row, shows_kind: row.shows_kind === 1 }));
    },
    remember: (place, learned) =>
      write(async (inner) => {
        await deleteOld(inner, now());
        for (const known of learned) await writeOne(inner, place, known);
      }),
  };
}

async function deleteOld(db: Db, time: number): Promise<void> {
  await db
    .deleteFrom("known_access")
    .where((row) => row.or([row("until", "<=", time), row("at", ">", time)]))
    .execute();
}

/** Of two processes the one that learned it later is right, whichever of them writes later. */
async function writeOne(db: Db, place: AccessPlace, known: KnownTool): Promise<void> {
  const row = { ...known, shows_kind: known.shows_kind ? 1 : 0 };
  const { tool: _, ...rest } = row;
  await db
    .insertInto("known_access")
    .values({ ...place, ...row })
    .onConflict((conflict) =>
      conflict
        .columns(["key_print", "origin", "tool"])
        .doUpdateSet(rest)
        .where("known_access.at", "<=", known.at),
    )
    .execute();
}
