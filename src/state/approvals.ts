import type { Kysely } from "kysely";
import type { Clock, Random } from "../contract/world.ts";
import type { Sql } from "../sql/sql.ts";
import type { StateTables } from "./tables.ts";

/** Approvals that wait for a person, and those that were used: each act is let through once. */

export type Channel = StateTables["approvals"]["channel"];

export type Approval = {
  readonly id: string;
  readonly status: "waiting" | "approved" | "declined" | "used";
  readonly preview: string;
  readonly expires_at: number;
};

export type Wanted = { readonly digest: string; readonly preview: string };

export type Approvals = {
  /** A new approval that travels sealed through the client. */
  readonly openSealed: (wanted: Wanted) => Promise<Approval>;
  /** Uses a sealed approval up: true once, and only for the very act that it was opened for. */
  readonly takeSealed: (id: string, digest: string) => Promise<boolean>;
  /**
   * What a person said to this act on its page: approved and declined are used up by asking, and
   * an act that still waits, or is new, is answered with its page.
   */
  readonly askPage: (
    wanted: Wanted,
  ) => Promise<{ readonly said: "approved" | "declined" } | { readonly waits: Approval }>;
  readonly findPage: (id: string) => Promise<Approval | undefined>;
  /** Writes a person's answer down; false when it no longer waits. */
  readonly decidePage: (id: string, said: "approved" | "declined") => Promise<boolean>;
  /**
   * Takes one of the tries that a PIN has, before it is looked at: many at once get no more than
   * one after another would. False when they are used up, here or on this data folder as a whole.
   */
  readonly takePinTry: (id: string) => Promise<boolean>;
  /** A right PIN gives all tries back to the folder. */
  readonly forgivePins: () => Promise<void>;
};

const lasts_ms = 5 * 60_000;
const triesForOne = 5;
/** New approvals bring new tries, so all of them together have an end as well. */
const triesForAll = 20;
const pinMemory_ms = 60 * 60_000;
const idBytes = 20;

type World = { readonly clock: Clock; readonly random: Random };

export function createApprovals(sql: Sql<StateTables>, { clock, random }: World): Approvals {
  return {
    openSealed: (wanted) => sql.write((db) => open(db, "sealed", wanted)),

    takeSealed: (id, digest) =>
      sql.write(async (db) => {
        const { numUpdatedRows } = await db
          .updateTable("approvals")
          .set({ status: "used" })
          .where("id", "=", id)
          .where("digest", "=", digest)
          .where("channel", "=", "sealed")
          .where("status", "=", "waiting")
          .where("expires_at", ">", clock.now())
          .executeTakeFirst();
        return numUpdatedRows === 1n;
      }),

    askPage: (wanted) =>
      sql.write(async (db) => {
        const row = await findLiving(db, wanted.digest);
        if (row === undefined) return { waits: await open(db, "page", wanted) };
        if (row.status === "waiting") return { waits: row };
        await db
          .updateTable("approvals")
          .set({ status: "used" })
          .where("id", "=", row.id)
          .execute();
        return { said: row.status === "approved" ? "approved" : "declined" };
      }),

    findPage: (id) =>
      sql.db
        .selectFrom("approvals")
        .select(["id", "status", "preview", "expires_at"])
        .where("id", "=", id)
        .where("channel", "=", "page")
        .where("expires_at", ">", clock.now())
        .executeTakeFirst(),

    decidePage: (id, said) =>
      sql.write(async (db) => {
        const { numUpdatedRows } = await db
          .updateTable("approvals")
          .set({ status: said })
          .where("id", "=", id)
          .where("channel", "=", "page")
          .where("status", "=", "waiting")
          .where("expires_at", ">", clock.now())
          .executeTakeFirst();
        return numUpdatedRows === 1n;
      }),

    takePinTry: (id) =>
      sql.write(async (db) => {
        const now = clock.now();
        await db
          .deleteFrom("pin_tries")
          .where("at", "<=", now - pinMemory_ms)
          .execute();
        const { count } = await db
          .selectFrom("pin_tries")
          .select((row) => row.fn.countAll<number>().as("count"))
          .executeTakeFirstOrThrow();
        if (Number(count) >= triesForAll) return false;
        const { numUpdatedRows } = await db
          .updateTable("approvals")
          .set((row) => ({ pin_tries: row("pin_tries", "+", 1) }))
          .where("id", "=", id)
          .where("pin_tries", "<", triesForOne)
          .executeTakeFirst();
        if (numUpdatedRows === 0n) return false;
        await db.insertInto("pin_tries").values({ at: now }).execute();
        return true;
      }),

    forgivePins: async () => {
      await sql.write((db) => db.deleteFrom("pin_tries").execute());
    },
  };

  async function open(
    db: Kysely<StateTables>,
    channel: Channel,
    { digest, preview }: Wanted,
  ): Promise<Approval> {
    const now = clock.now();
    await db.deleteFrom("approvals").where("expires_at", "<=", now).execute();
    const id = Buffer.from(random.bytes(idBytes)).toString("base64url");
    const approval = { id, status: "waiting", preview, expires_at: now + lasts_ms } as const;
    const row = { ...approval, digest, channel, pin_tries: 0, created_at: now };
    await db.insertInto("approvals").values(row).execute();
    return approval;
  }

  /** The page of this act that was not used yet. */
  function findLiving(db: Kysely<StateTables>, digest: string): Promise<Approval | undefined> {
    return db
      .selectFrom("approvals")
      .select(["id", "status", "preview", "expires_at"])
      .where("digest", "=", digest)
      .where("channel", "=", "page")
      .where("status", "!=", "used")
      .where("expires_at", ">", clock.now())
      .executeTakeFirst();
  }
}
