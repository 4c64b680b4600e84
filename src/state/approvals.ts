import type { Kysely } from "kysely";
import type { Clock, Random } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import { createLifetimes } from "./lifetimes.ts";
import type { StateTables } from "./tables.ts";

/** Approvals that wait for a person, and what became of them: each lets its act through once. */

type Db = Kysely<StateTables>;
type Row = StateTables["approvals"];

export type Approval = Readonly<Pick<Row, "id" | "status" | "preview" | "expires_at">>;

type Wanted = { readonly digest: string; readonly preview: string };

export type Approvals = {
  /** A new approval that travels sealed through the client. */
  readonly openSealed: (wanted: Wanted) => Promise<Approval>;
  /** Uses a sealed approval up: true once, and only for the very act that it was opened for. */
  readonly takeSealed: (id: string, digest: string) => Promise<boolean>;
  /**
   * What a person said to this act on its page: a yes or a no is used up by asking for it, and an
   * act that still waits, or is new, is answered with its page.
   */
  readonly askPage: (wanted: Wanted) => Promise<Said | { readonly waits: Approval }>;
  readonly findPage: (id: string) => Promise<Approval | undefined>;
  /** Writes a person's answer down; false when it no longer waits. */
  readonly decidePage: (id: string, said: Said["said"]) => Promise<boolean>;
};

type Said = { readonly said: "approved" | "declined" };

/** design.md, "Approval". */
const lasts_ms = 5 * 60_000;
const idBytes = 20;

export function createApprovals(
  sql: Sql<StateTables>,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Approvals {
  const lifetimes = createLifetimes(clock, lasts_ms);

  return {
    openSealed: (wanted) => sql.write((db) => open(db, "sealed", wanted)),

    takeSealed: (id, digest) =>
      sql.write(async (db) => {
        const [row] = await listLiving(db, { id, digest, channel: "sealed" });
        return row !== undefined && turn(db, row.id, "waiting", "used");
      }),

    askPage: (wanted) =>
      sql.write(async (db) => {
        const living = await listLiving(db, { digest: wanted.digest, channel: "page" });
        const row = living.find(({ status }) => status !== "used" && status !== "told");
        if (row === undefined) return { waits: await open(db, "page", wanted) };
        if (row.status === "waiting") return { waits: row };
        const said = row.status === "approved" ? "approved" : "declined";
        await turn(db, row.id, said, said === "approved" ? "used" : "told");
        return { said };
      }),

    findPage: async (id) => (await listLiving(sql.db, { id, channel: "page" }))[0],

    decidePage: (id, said) =>
      sql.write(async (db) => {
        const [row] = await listLiving(db, { id, channel: "page" });
        return row !== undefined && turn(db, row.id, "waiting", said);
      }),
  };

  async function open(db: Db, channel: Row["channel"], wanted: Wanted): Promise<Approval> {
    const ended = lifetimes.takeEnded();
    await db
      .deleteFrom("approvals")
      .where((row) => row.or([row("id", "in", ended), row("expires_at", "<=", clock.now())]))
      .execute();
    const id = Buffer.from(random.bytes(idBytes)).toString("base64url");
    const row = { ...wanted, ...lifetimes.begin(id), id, channel, status: "waiting" } as const;
    await db
      .insertInto("approvals")
      .values({ ...row, pin_tries: 0 })
      .execute();
    return row;
  }

  async function listLiving(db: Db, known: Partial<Row>): Promise<readonly Row[]> {
    const rows = await db
      .selectFrom("approvals")
      .selectAll()
      .where((row) => row.and(known))
      .execute();
    return rows.filter(lifetimes.isOn);
  }
}

/** One step of an approval's life, for whoever is the first to take it. */
async function turn(db: Db, id: string, from: Row["status"], to: Row["status"]): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("approvals")
    .set({ status: to })
    .where("id", "=", id)
    .where("status", "=", from)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
