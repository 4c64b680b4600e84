import type { Generated, Kysely, Selectable } from "kysely";
import type { Random } from "../contract/clock.ts";

export type StateDb = Kysely<StateTables>;

/** Defines the columns of the state's tables for Kysely. */
export type StateTables = {
  secrets: { name: string; value: string };
  approvals: {
    id: string;
    /** The hash of the request: key, tool, arguments, target and the target's state. */
    digest: string;
    /** A hash of the requesting key; empty for an approval by token. */
    key_print: string;
    /** The hash of the PIN that the approval page requires; null for none. */
    pin: string | null;
    channel: "page" | "sealed";
    /** `used` once the request was carried out, `told` once the assistant got the rejection. */
    status: "waiting" | "approved" | "used" | "declined" | "told";
    /** The preview shown to a person, as JSON. */
    preview: string;
    created_at: number;
    expires_at: number;
  };
  /** One row for each use that counts toward a limit (see `counters.ts`). */
  uses: {
    id: Generated<number>;
    kind: string;
    subject: string;
    /** The time of the use, or the earliest time allowed for a waiting use. */
    at: number;
  };
  /** Expiring values as JSON (see `expiring-values.ts`). */
  kept_values: { kind: string; key: string; owner: string; value: string; expires_at: number };
  plans: {
    id: string;
    key_print: string;
    origin: string;
    operation: string;
    undoes: string | null;
    /** These three are JSON. */
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
    /** Both are JSON. */
    fields: string | null;
    before: string | null;
    message: string | null;
    /** The row's status after the plan was applied; null if the row was not sent. */
    status: "sent" | "done" | "rejected" | "unknown" | null;
    /** The existing or new link, and the server's message. */
    result_id: string | null;
    result: string | null;
    /** Fields of the written link that the row does not set, as JSON. */
    made: string | null;
  };
  jobs: {
    /** Numbers jobs in the order of their creation. */
    number: Generated<number>;
    id: string;
    plan_id: string;
    key_print: string;
    state: "open" | "done" | "cancelled";
    /** The reason why the last run ended early. */
    message: string | null;
    /**
     * The process that runs the job until `runs_until`. Afterwards, any process may resume the job.
     */
    runner: string | null;
    runs_until: number;
    created_at: number;
    updated_at: number;
    /**
     * The key's id in the service; empty for a remote server's key. Null if a restart must not
     * resume the job.
     */
    key_id: string | null;
    /** The project whose history contains the job, as in `changes`; null for none. */
    realm: string | null;
  };
  changes: {
    /** Numbers changes in the order of their start, independent of clocks. */
    number: Generated<number>;
    id: string;
    at: number;
    /** The project, or the server's URL if a remote server names no project. */
    realm: string;
    key_print: string;
    /** The name that the client reports. */
    client: string | null;
    tool: string;
    kind: string;
    target_id: string | null;
    target_key: string | null;
    name: string | null;
    state: "begun" | "done";
    /** JSON. */
    effects: string;
    /** The effects that cannot be undone. */
    note: string | null;
    undoes: string | null;
    undone_by: string | null;
    /** The length of the effects, in characters. */
    size: number;
  };
};

export type StoredJob = Selectable<StateTables["jobs"]>;

const idBytes = 16;

/** Creates a random id that cannot be guessed. The prefix distinguishes it from other ids. */
export function createPrefixedId(
  kind: "plan" | "job" | "export" | "change",
  random: Random,
): string {
  return `${kind}_${Buffer.from(random.bytes(idBytes)).toString("base64url")}`;
}
