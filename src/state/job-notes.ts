import type { Clock } from "../contract/clock.ts";
import type { JsonObject } from "../contract/json.ts";
import { refuseNul } from "../sql/run-statements.ts";
import type { Sql } from "../sql/sql.ts";
import { renewLease, type Run } from "./job-leases.ts";
import type { Db, StateTables } from "./tables.ts";

/**
 * Writes down what becomes of a job's rows. Notes that wait at the same moment share the statements
 * and the commit; they come to the disk in the order in which they were given.
 */
export type JobNotes = {
  /**
   * Written before the request leaves: a row that stays so has an unknown end. False when nothing
   * may be sent any more: the job was cancelled, or another process runs it by now.
   */
  readonly noteSent: (run: Run, position: number) => Promise<boolean>;
  /** Writes nothing where another process runs the job by now: it has read back what we sent. */
  readonly noteEnd: (run: Run, position: number, end: RowEnd) => Promise<void>;
};

export type RowEnd = {
  readonly status: "done" | "rejected" | "unknown";
  readonly link_id?: string | undefined;
  readonly made?: JsonObject | undefined;
  readonly message?: string | undefined;
};

type Row = Omit<StateTables["job_rows"], "plan_id">;

type Note = {
  readonly row: Row;
  readonly resolve: (isGoing: boolean) => void;
  readonly reject: (error: unknown) => void;
};

export function createJobNotes({ write }: Sql<StateTables>, clock: Pick<Clock, "now">): JobNotes {
  /** Of each run, those that no transaction has taken yet. */
  const waiting = new Map<string, Note[]>();

  function note(run: Run, row: Row): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const given = { row, resolve, reject };
      const name = `${run.id} ${run.runner}`;
      const others = waiting.get(name);
      others?.push(given);
      if (others !== undefined) return;
      waiting.set(name, [given]);
      void writeWaiting(run, name);
    });
  }

  async function writeWaiting(run: Run, name: string): Promise<void> {
    let taken: readonly Note[] | undefined;
    // Whoever came before its turn is in it; what is done again is the same once more.
    const take = () => {
      if (taken !== undefined) return taken;
      taken = waiting.get(name) ?? [];
      waiting.delete(name);
      return taken;
    };
    try {
      const isGoing = await write((db) => writeNotes(db, run, take(), clock.now()), {
        isPatient: true,
      });
      for (const { resolve } of take()) resolve(isGoing);
    } catch (error) {
      for (const { reject } of take()) reject(error);
    }
  }

  return {
    noteSent: (run, position) =>
      note(run, { position, status: "sent", link_id: null, message: null, made: null }),
    noteEnd: async (run, position, { status, link_id = null, message = null, made }) => {
      // It would take the notes back that are written together with it.
      refuseNul([link_id, message]);
      const text = made === undefined ? null : JSON.stringify(made);
      await note(run, { position, status, link_id, message, made: text });
    },
  };
}

/** Answers whether more rows may be sent. To note a row is a sign of life as well. */
async function writeNotes(db: Db, run: Run, notes: readonly Note[], now: number): Promise<boolean> {
  const going = await renewLease(db, run, now);
  const isGoing = going !== undefined;
  // A cancelled job is still ours, and how the rows on the way have ended is to be known.
  const plan_id = going ?? (await findOwn(db, run));
  if (plan_id === undefined) return false;
  const rows = notes.map(({ row }) => ({ plan_id, ...row }));
  const ended = rows.filter(({ status }) => status !== "sent");
  const begun = rows.filter(({ status }) => status === "sent");
  if (ended.length > 0) {
    await db
      .insertInto("job_rows")
      .values(ended)
      .onConflict((conflict) =>
        conflict.columns(["plan_id", "position"]).doUpdateSet((row) => ({
          status: row.ref("excluded.status"),
          link_id: row.ref("excluded.link_id"),
          message: row.ref("excluded.message"),
          made: row.ref("excluded.made"),
        })),
      )
      .execute();
  }
  if (isGoing && begun.length > 0) {
    await db
      .insertInto("job_rows")
      .values(begun)
      .onConflict((conflict) =>
        conflict.columns(["plan_id", "position"]).doUpdateSet({ status: "sent" }),
      )
      .execute();
  }
  return isGoing;
}

/** The plan of a job that the runner still has. */
async function findOwn(db: Db, { id, runner }: Run): Promise<string | undefined> {
  const own = db.selectFrom("jobs").select("plan_id").where("id", "=", id);
  return (await own.where("runner", "=", runner).executeTakeFirst())?.plan_id;
}
