import { createHash } from "node:crypto";
import type { Clock } from "../contract/clock.ts";
import type { JsonObject } from "../contract/json.ts";
import type { WebhookEvent } from "../contract/webhook-events.ts";
import type { Sql } from "../sql/sql.ts";
import type { Db, StateTables } from "./tables.ts";

/**
 * What webhooks are to be told of jobs and approvals: written down in the transaction of what it
 * tells of, which may be in another file than the webhooks. Whoever delivers takes it over from
 * here, under the same id, and then takes it away.
 */

export type Notice = {
  readonly id: string;
  /** The project, as the history has it. */
  readonly realm: string;
  readonly event: Extract<WebhookEvent, "job.finished" | "approval.waiting">;
  readonly subject: string;
  readonly data: JsonObject;
  readonly at: number;
};

export type Notices = {
  /** The oldest first. */
  readonly list: (limit: number) => Promise<readonly Notice[]>;
  readonly remove: (taken: readonly Pick<Notice, "realm" | "id">[]) => Promise<void>;
  /** Ends those that nobody has taken over for a week: nobody delivers here. */
  readonly removeEnded: () => Promise<void>;
};

const kept_ms = 7 * 24 * 60 * 60 * 1000;

export function createNotices(
  { db, write }: Sql<StateTables>,
  { now }: Pick<Clock, "now">,
): Notices {
  return {
    list: async (limit) => {
      const rows = await db.selectFrom("notices").selectAll().orderBy("at").limit(limit).execute();
      // We wrote these columns ourselves.
      return rows.map((row) => ({ ...row, data: JSON.parse(row.data) as JsonObject }));
    },
    remove: async (taken) => {
      if (taken.length === 0) return;
      const realms = new Set(taken.map(({ realm }) => realm));
      const remove = async (own: Db) => {
        for (const realm of realms) {
          const ids = taken.flatMap((notice) => (notice.realm === realm ? [notice.id] : []));
          const ofRealm = own.deleteFrom("notices").where("realm", "=", realm);
          await ofRealm.where("id", "in", ids).execute();
        }
      };
      await write(remove, { isPatient: true });
    },
    removeEnded: async () => {
      const old = now() - kept_ms;
      const any = db.selectFrom("notices").select("id").where("at", "<=", old).limit(1);
      if ((await any.executeTakeFirst()) === undefined) return;
      await write((own) => own.deleteFrom("notices").where("at", "<=", old).execute());
    },
  };
}

/** In the transaction of what it tells of. The same end of the same thing is told of once. */
export async function insertNotice(
  db: Db,
  { data, ...notice }: Omit<Notice, "id">,
  end: string,
): Promise<void> {
  const id = `evt_${digestNotice([notice.event, notice.subject, end])}`;
  await db
    .insertInto("notices")
    .values({ ...notice, id, data: JSON.stringify(data) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Tells things apart, and not what they are: an approval's id is the address of its page. */
export function digestNotice(words: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(words)).digest("base64url").slice(0, 27);
}
