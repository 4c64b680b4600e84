import type { Generated, Kysely, Selectable } from "kysely";
import type { Random } from "../contract/clock.ts";

/** Defines the columns of the state's tables, such as plans, jobs and approvals, for Kysely. */

export type StateDb = Kysely<StateTables>;

export type StateTables = {
  secrets: { name: string; value: string };
  approvals: {
    id: string;
    /** The hash of what the approval allows: key, tool, arguments, and the target's state. */
    digest: string;
    /** The hash of the requesting key; empty for an approval by token. */
    key_print: string;
    /** The hash of the PIN that the approval page requires; null for none. */
    pin: string | null;
    channel: "page" | "sealed";
    /** `used` once the approved request has run, `told` once the assistant got the rejection. */
    status: "waiting" | "approved" | "used" | "declined" | "told";
    preview: string;
    created_at: number;
    expires_at: number;
  };
  /** One row per action that counts toward a rate limit (see `counters.ts`). */
  uses: {
    id: Generated<number>;
    kind: string;
    subject: string;
    /** The time of the action. For a queued action, the time at which it will be allowed. */
    at: number;
  };
  /** The values of `expiring-values.ts`, as JSON. */
  kept_values: { kind: string; key: string; owner: string; value: string; expires_at: number };
  plans: {
    id: string;
    key_print: string;
    origin: string;
    operation: string;
    undoes: string | null;
    /** This and the next two columns contain JSON. */
    request: string;
    counts: string;
    problems: string;
    created_at: number;
    expires_at: number;
  };
  plan_rows: {
    plan_id: string;
    position: number;
    row: number | null;
    action: string;
    link_id: string | null;
    path: string | null;
    /** This and the next column contain JSON. */
    fields: string | null;
    before: string | null;
    message: string | null;
    /** The row's status in its job; null if it has not been sent. */
    status: "sent" | "done" | "rejected" | "unknown" | null;
    /** The id of the written link. The next column contains the server's message. */
    result_id: string | null;
    result: string | null;
    /** The writable fields of the written link, as JSON. */
    made: string | null;
  };
  jobs: {
    /** Numbers jobs in the order of their creation. */
    number: Generated<number>;
    id: string;
    plan_id: string;
    key_print: string;
    state: "open" | "done" | "cancelled";
    /** Why the last run was interrupted; null if it was not. */
    message: string | null;
    /** The process that runs the job until `runs_until`. After that, any process may resume it. */
    runner: string | null;
    runs_until: number;
    created_at: number;
    updated_at: number;
    /**
     * The key's id in the store, or empty for a remote server's key. Null if the job must not be
     * resumed after a restart.
     */
    key_id: string | null;
    /** The project whose history contains the job; null if no history contains it. */
    realm: string | null;
  };
  changes: {
    /** Numbers changes in the order of their start, even if a clock is wrong. */
    number: Generated<number>;
    id: string;
    at: number;
    /** The project, or the URL of a remote server that does not report its project. */
    realm: string;
    key_print: string;
    /** The client's name, as reported by the client. */
    client: string | null;
    tool: string;
    kind: string;
    target_id: string | null;
    target_key: string | null;
    name: string | null;
    state: "begun" | "done";
    effects: string;
    /** What cannot be undone, or why a job ended early. */
    note: string | null;
    undoes: string | null;
    undone_by: string | null;
    /** The length of `effects` in characters. */
    size: number;
  };
};

export type StoredJob = Selectable<StateTables["jobs"]>;

const idBytes = 16;

/** Creates an id that cannot be guessed, such as `plan_…`. */
export function createPrefixedId(
  kind: "plan" | "job" | "export" | "change",
  random: Random,
): string {
  return `${kind}_${Buffer.from(random.bytes(idBytes)).toString("base64url")}`;
}
