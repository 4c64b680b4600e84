import { mostSkew_ms, type ClockAndRandom } from "../contract/clock.ts";
import { limits } from "../contract/limits.ts";
import type { Sql } from "../sql/sql.ts";
import { digestNotice, insertNotice } from "./expiring-values.ts";
import type { StateDb, StateTables } from "./tables.ts";

/** Stores approval requests and their answers. An approval allows one specific request once. */

type ApprovalRow = StateTables["approvals"];

export type Approval = Readonly<
  Pick<ApprovalRow, "id" | "status" | "preview" | "key_print" | "pin" | "created_at" | "expires_at">
>;

type TokenRequest = Pick<ApprovalRow, "digest" | "preview">;
type ApprovalPageRequest = TokenRequest &
  Pick<ApprovalRow, "key_print"> & {
    /** The hash of the PIN that the approval page requires. */
    readonly pin?: string | undefined;
    /**
     * The id of the approval that this call has been waiting for. If it was used or declined
     * meanwhile, the call gets that result, and no second page is created.
     */
    readonly waited?: string | undefined;
    /** What webhooks report when an approval page is created. If omitted, no event is queued. */
    readonly event?: { readonly realm: string; readonly headline: string } | undefined;
  };

export type Approvals = {
  /** Creates an approval that the client presents as a token. */
  readonly openForToken: (request: TokenRequest) => Promise<Approval>;
  /**
   * Uses up a token's approval. Returns true only for the first call, and only for the original
   * request.
   */
  readonly takeForToken: (id: string, digest: string) => Promise<boolean>;
  /** Whether this ID belongs to an unexpired approval of this request. */
  readonly isCurrent: (id: string, digest: string) => Promise<boolean>;
  /**
   * Returns the user's answer to this request and uses it up. If several identical requests wait,
   * only one gets the approval. If there is no answer yet, returns the waiting approval page, and
   * creates it if necessary.
   */
  readonly askPage: (
    request: ApprovalPageRequest,
  ) => Promise<RecordedAnswer | { readonly decision: "used" } | { readonly waits: Approval }>;
  readonly listWaiting: (keyPrint: string) => Promise<readonly Approval[]>;
  readonly findPage: (id: string) => Promise<Approval | undefined>;
  /** Reads only the status, because waiting calls poll it and the preview may be long. */
  readonly readStatus: (id: string) => Promise<Approval["status"] | undefined>;
  /** Saves the user's answer. Returns false if the approval is no longer waiting. */
  readonly decidePage: (id: string, decision: RecordedAnswer["decision"]) => Promise<boolean>;
  readonly removeEnded: () => Promise<void>;
  /** Returns how many approvals this process has requested, and how many expired unused. */
  readonly measure: () => Readonly<Record<"asked" | "expired", number>>;
};

type RecordedAnswer = { readonly decision: "approved" | "declined" };

const idBytes = 20;

export function createApprovals(
  { db, write }: Sql<StateTables>,
  sources: ClockAndRandom,
): Approvals {
  const measured = { asked: 0, expired: 0 };
  const { clock } = sources;
  return {
    openForToken: async (request) => {
      const opened = await write((inner) =>
        open(inner, { ...request, channel: "sealed" }, sources),
      );
      measured.asked += 1;
      return opened;
    },

    takeForToken: (id, digest) => write((inner) => useUp(inner, { id, digest }, clock.now())),

    askPage: async ({ event, waited, ...request }) => {
      const asked = await write(async (inner) => {
        const found = await readAnswer(inner, { ...request, waited }, clock.now());
        if (found !== undefined) return found;
        const waits = await open(inner, { ...request, channel: "page" }, sources);
        if (event !== undefined) await noteOpened(inner, waits, event);
        return { waits, isNew: true };
      });
      if ("isNew" in asked) measured.asked += 1;
      return asked;
    },

    isCurrent: async (id, digest) => {
      const row = selectUnexpired(db, clock.now()).where((each) => each.and({ id, digest }));
      return (await row.select("id").executeTakeFirst()) !== undefined;
    },

    listWaiting: (key_print) =>
      selectCurrent(db, "page", clock.now())
        .selectAll()
        .where((row) => row.and({ key_print, status: "waiting" }))
        .execute(),

    findPage: (id) =>
      selectCurrent(db, "page", clock.now()).selectAll().where("id", "=", id).executeTakeFirst(),

    readStatus: async (id) => {
      const current = selectCurrent(db, "page", clock.now()).select("status");
      return (await current.where("id", "=", id).executeTakeFirst())?.status;
    },

    decidePage: (id, decision) =>
      write(async (inner) => {
        const current = selectCurrent(inner, "page", clock.now()).select("id");
        const row = await current.where("id", "=", id).executeTakeFirst();
        return row !== undefined && setStatus(inner, row.id, "waiting", decision);
      }),

    removeEnded: async () => {
      const now = clock.now();
      const ended = db.selectFrom("approvals").select("id").where("expires_at", "<=", now);
      if ((await ended.limit(1).executeTakeFirst()) === undefined) return;
      const removed = await write((inner) =>
        inner.deleteFrom("approvals").where("expires_at", "<=", now).returning("status").execute(),
      );
      // Counts requests that were never answered, and approvals that were never used.
      const unspent = removed.filter(({ status }) => status === "waiting" || status === "approved");
      measured.expired += unspent.length;
    },
    measure: () => ({ ...measured }),
  };
}

async function useUp(
  db: StateDb,
  { id, digest }: Pick<ApprovalRow, "id" | "digest">,
  now: number,
): Promise<boolean> {
  const current = selectCurrent(db, "sealed", now).select("digest");
  const row = await current.where("id", "=", id).executeTakeFirst();
  const isFirst = row !== undefined && (await setStatus(db, id, "waiting", "used"));
  return isFirst && row.digest === digest;
}

type NewApproval = TokenRequest &
  Pick<ApprovalRow, "channel"> &
  Partial<Pick<ApprovalPageRequest, "key_print" | "pin">>;

async function open(
  db: StateDb,
  { key_print = "", pin, ...request }: NewApproval,
  { clock, random }: ClockAndRandom,
): Promise<ApprovalRow> {
  const id = Buffer.from(random.bytes(idBytes)).toString("base64url");
  const created_at = clock.now();
  const times = { created_at, expires_at: created_at + limits.approval_ms };
  const asked = { ...request, key_print, pin: pin ?? null };
  const row = { id, ...asked, status: "waiting", ...times } as const;
  await db.insertInto("approvals").values(row).execute();
  return row;
}

async function readAnswer(
  db: StateDb,
  { digest, pin, waited }: ApprovalPageRequest,
  now: number,
): Promise<Awaited<ReturnType<Approvals["askPage"]>> | undefined> {
  const current = await selectCurrent(db, "page", now)
    .selectAll()
    .where("digest", "=", digest)
    .execute();
  const ended = current.find(({ id }) => id === waited);
  if (ended?.status === "used") return { decision: "used" };
  if (ended?.status === "told") return { decision: "declined" };
  const unused = current.filter(({ status }) => status !== "used" && status !== "told");
  // Ignore approvals with a different PIN. Another process requested them.
  const row = unused.find((approval) => approval.pin === (pin ?? null));
  if (row === undefined) return undefined;
  if (row.status === "waiting") return { waits: row };
  const decision = row.status === "approved" ? "approved" : "declined";
  await setStatus(db, row.id, decision, decision === "approved" ? "used" : "told");
  return { decision };
}

/**
 * Queues a webhook event. It contains a digest of the approval's id, because anyone with the id can
 * open the approval page.
 */
async function noteOpened(
  db: StateDb,
  { id, created_at, expires_at }: Approval,
  { realm, headline }: NonNullable<ApprovalPageRequest["event"]>,
): Promise<void> {
  const subject = `apr_${digestNotice([id])}`;
  const data = { id: subject, headline, expires_at: new Date(expires_at).toISOString() };
  const notice = { realm, event: "approval.waiting", subject, data, at: created_at } as const;
  await insertNotice(db, notice, "");
}

function selectCurrent(db: StateDb, channel: ApprovalRow["channel"], now: number) {
  return selectUnexpired(db, now).where("channel", "=", channel);
}

function selectUnexpired(db: StateDb, now: number) {
  return (
    db
      .selectFrom("approvals")
      .where("expires_at", ">", now)
      // Ignore approvals from the future. They were created before a clock was set back.
      .where("created_at", "<=", now + mostSkew_ms)
  );
}

/** Changes a status. Of several concurrent callers, only one gets true. */
async function setStatus(
  db: StateDb,
  id: string,
  from: ApprovalRow["status"],
  to: ApprovalRow["status"],
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("approvals")
    .set({ status: to })
    .where((row) => row.and({ id, status: from }))
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
