import type { Clock, ClockAndRandom } from "../contract/clock.ts";
import { limits } from "../contract/limits.ts";
import type { Sql } from "../sql/sql.ts";
import { createLifetimes, type Lifetimes } from "./approval-lifetimes.ts";
import { digestNotice, insertNotice } from "./notices.ts";
import type { Db, StateTables } from "./tables.ts";

/** Approvals that wait for a person, and their answers: each lets one request through once. */

type Row = StateTables["approvals"];

export type Approval = Readonly<
  Pick<Row, "id" | "status" | "preview" | "key_print" | "pin" | "created_at" | "expires_at">
>;

type Wanted = Pick<Row, "digest" | "preview">;
type WantedPage = Wanted &
  Pick<Row, "key_print"> & {
    /** The hash of the PIN that the page is to ask for. */
    readonly pin?: string | undefined;
    /** The approval that this request has waited for: it is asked no second one. */
    readonly waited?: string | undefined;
    /** What webhooks of a project are told when a page is opened; nobody, where it is left out. */
    readonly told?: { readonly realm: string; readonly headline: string } | undefined;
  };

export type Approvals = {
  /** A new approval whose token travels through the client. */
  readonly openForToken: (wanted: Wanted) => Promise<Approval>;
  /** Uses a token's approval up: true once, and only for the request that it was opened for. */
  readonly takeForToken: (id: string, digest: string) => Promise<boolean>;
  /**
   * What a person answered on this request's page: the answer is used up by asking for it, and a
   * request that still waits, or is new, is answered with its page. Where several have waited for
   * one answer, it is used for one of them.
   */
  readonly askPage: (
    wanted: WantedPage,
  ) => Promise<Said | { readonly said: "used" } | { readonly waits: Approval }>;
  /** Those of a key that wait for a person. */
  readonly listWaiting: (keyPrint: string) => Promise<readonly Approval[]>;
  readonly findPage: (id: string) => Promise<Approval | undefined>;
  /** Without what a person is shown, which may be long: whoever waits asks often. */
  readonly readStatus: (id: string) => Promise<Approval["status"] | undefined>;
  /** Writes a person's answer down; false when the approval no longer waits. */
  readonly decidePage: (id: string, said: Said["said"]) => Promise<boolean>;
  /** Ends those whose time is over. */
  readonly removeEnded: () => Promise<void>;
  /** How many were asked here, and how many were found over before they let anything through. */
  readonly measure: () => Readonly<Record<"asked" | "expired", number>>;
};

type Said = { readonly said: "approved" | "declined" };

const idBytes = 20;

export function createApprovals(
  sql: Sql<StateTables>,
  { clock, random }: ClockAndRandom,
): Approvals {
  const lifetimes = createLifetimes(clock, limits.approval_ms);
  const measured = { asked: 0, expired: 0 };
  const writeCurrent = clearBefore(sql, lifetimes, clock, (count) => (measured.expired += count));

  return {
    openForToken: (wanted) => writeCurrent((db) => begin(db, "sealed", wanted)),

    takeForToken: (id, digest) =>
      sql.write(async (db) => {
        const [row] = await listCurrent(db, { id, digest, channel: "sealed" });
        return row !== undefined && setStatus(db, row.id, "waiting", "used");
      }),

    askPage: (wanted) => writeCurrent((db) => askOnPage(wanted, { db, listCurrent, begin })),

    listWaiting: (key_print) =>
      listCurrent(sql.db, { key_print, channel: "page", status: "waiting" }),

    findPage: async (id) => (await listCurrent(sql.db, { id, channel: "page" }))[0],

    readStatus: async (id) => {
      const row = await selectTimes(sql.db, id).executeTakeFirst();
      return row !== undefined && lifetimes.isCurrent(row) ? row.status : undefined;
    },

    decidePage: (id, said) =>
      sql.write(async (db) => {
        const [row] = await listCurrent(db, { id, channel: "page" });
        return row !== undefined && setStatus(db, row.id, "waiting", said);
      }),

    removeEnded: async () => {
      if (await isAnyOver(sql.db, lifetimes, clock)) await writeCurrent(() => Promise.resolve());
    },
    measure: () => ({ ...measured }),
  };

  async function begin(
    db: Db,
    channel: Row["channel"],
    { key_print = "", pin = null, ...wanted }: Wanted & Partial<Pick<Row, "key_print" | "pin">>,
  ): Promise<Approval> {
    const id = Buffer.from(random.bytes(idBytes)).toString("base64url");
    const first = { id, channel, status: "waiting", pin_tries: 0 } as const;
    const row = { ...wanted, key_print, pin, ...lifetimes.begin(id), ...first };
    await db.insertInto("approvals").values(row).execute();
    measured.asked += 1;
    return row;
  }

  async function listCurrent(db: Db, known: Partial<Row>): Promise<readonly Row[]> {
    return (await listRows(db, known)).filter(lifetimes.isCurrent);
  }
}

type Rows = {
  readonly db: Db;
  readonly listCurrent: (db: Db, known: Partial<Row>) => Promise<readonly Row[]>;
  readonly begin: (db: Db, channel: "page", wanted: Wanted & Partial<Row>) => Promise<Approval>;
};

async function askOnPage(
  { waited, told, ...wanted }: WantedPage,
  { db, listCurrent, begin }: Rows,
): ReturnType<Approvals["askPage"]> {
  const current = await listCurrent(db, { digest: wanted.digest, channel: "page" });
  const ended = current.find(({ id }) => id === waited);
  if (ended?.status === "used") return { said: "used" };
  if (ended?.status === "told") return { said: "declined" };
  // A yes that was given without this PIN, in front of another process, is none here.
  const pin = wanted.pin ?? null;
  const open = current.filter(({ status }) => status !== "used" && status !== "told");
  const row = open.find((approval) => approval.pin === pin);
  if (row === undefined) {
    const waits = await begin(db, "page", { ...wanted, pin });
    if (told !== undefined) await tellOfPage(db, waits, told);
    return { waits };
  }
  if (row.status === "waiting") return { waits: row };
  const said = row.status === "approved" ? "approved" : "declined";
  await setStatus(db, row.id, said, said === "approved" ? "used" : "told");
  return { said };
}

/** Never its own id, by which its page is opened. */
async function tellOfPage(
  db: Db,
  { id, created_at, expires_at }: Approval,
  { realm, headline }: NonNullable<WantedPage["told"]>,
): Promise<void> {
  const subject = `apr_${digestNotice([id])}`;
  const data = { id: subject, headline, expires_at: new Date(expires_at).toISOString() };
  const notice = { realm, event: "approval.waiting", subject, data, at: created_at } as const;
  await insertNotice(db, notice, "");
}

async function listRows(db: Db, known: Partial<Row>): Promise<readonly Row[]> {
  const found = db.selectFrom("approvals").selectAll();
  return found.where((row) => row.and(known)).execute();
}

/** Those that are over go before; they are remembered until that is durable. */
function clearBefore(
  { write }: Sql<StateTables>,
  { listEnded, forget }: Lifetimes,
  { now }: Pick<Clock, "now">,
  onExpired: (count: number) => unknown,
) {
  return async <Result>(work: (db: Db) => Promise<Result>): Promise<Result> => {
    const ended = listEnded();
    let expired: readonly Pick<Row, "status">[] = [];
    const result = await write(async (db) => {
      expired = await db
        .deleteFrom("approvals")
        .where((row) => {
          const isOver = row("expires_at", "<=", now());
          // PostgreSQL knows no empty list.
          return ended.length === 0 ? isOver : row.or([isOver, row("id", "in", ended)]);
        })
        .returning("status")
        .execute();
      return work(db);
    });
    forget(ended);
    onExpired(expired.filter(({ status }) => unspent.has(status)).length);
    return result;
  };
}

async function isAnyOver(
  db: Db,
  { listEnded }: Lifetimes,
  { now }: Pick<Clock, "now">,
): Promise<boolean> {
  if (listEnded().length > 0) return true;
  const over = db.selectFrom("approvals").select("id").where("expires_at", "<=", now());
  return (await over.limit(1).executeTakeFirst()) !== undefined;
}

/** Nobody has answered, or the answer was never asked for. */
const unspent: ReadonlySet<Row["status"]> = new Set(["waiting", "approved"]);

function selectTimes(db: Db, id: string) {
  const pages = db.selectFrom("approvals").where("channel", "=", "page");
  return pages.select(["id", "status", "created_at", "expires_at"]).where("id", "=", id);
}

/** True for one caller alone where several change the same status at once. */
async function setStatus(
  db: Db,
  id: string,
  from: Row["status"],
  to: Row["status"],
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("approvals")
    .set({ status: to })
    .where("id", "=", id)
    .where("status", "=", from)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
