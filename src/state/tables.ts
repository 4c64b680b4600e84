import type { Generated, Kysely } from "kysely";

export type Db = Kysely<StateTables>;

/** What Waypost remembers between calls and processes, as the database has it. */
export type StateTables = {
  secrets: { name: string; value: string };
  approvals: {
    id: string;
    /** Of the approval request: key, tool, arguments, target and its state. */
    digest: string;
    /** The key that asked; empty for a token's approval. */
    key_print: string;
    /** The hash of the PIN that its page asks for, in whichever process; null for none. */
    pin: string | null;
    channel: "page" | "sealed";
    /** Used once the request went through; told once the assistant knows that it was declined. */
    status: "waiting" | "approved" | "used" | "declined" | "told";
    /** What a person is shown, as JSON. */
    preview: string;
    created_at: number;
    expires_at: number;
  };
  /** One row for each use that counts toward a limit (counters.ts). */
  uses: {
    id: Generated<number>;
    kind: string;
    subject: string;
    /** When it happened, or may happen at the earliest. */
    at: number;
  };
  /** Values that are forgotten after a while, as JSON (kept-values.ts). */
  kept_values: { kind: string; key: string; owner: string; value: string; expires_at: number };
  plans: {
    id: string;
    key_print: string;
    origin: string;
    operation: string;
    undoes: string | null;
    /** These three as JSON. */
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
    /** Both as JSON. */
    fields: string | null;
    before: string | null;
    message: string | null;
    /** What became of it when the plan was applied; null when it was not sent. */
    status: "sent" | "done" | "rejected" | "unknown" | null;
    /** The existing or the new link, and what the server said. */
    result_id: string | null;
    result: string | null;
    /** Fields of the written link that the row does not set, as JSON. */
    made: string | null;
  };
  jobs: {
    /** In the order in which they were opened. */
    number: Generated<number>;
    id: string;
    plan_id: string;
    key_print: string;
    state: "open" | "done" | "cancelled";
    /** Why the last run ended early. */
    message: string | null;
    /** The process that runs it until `runs_until`. After that, any process may resume it. */
    runner: string | null;
    runs_until: number;
    created_at: number;
    updated_at: number;
    /**
     * The service's own id of the key, and empty for a remote server's key. Null when a restart
     * does not resume the job.
     */
    key_id: string | null;
    /** The project in whose history it is, as in `changes`; null for none. */
    realm: string | null;
  };
  changes: {
    /** In the order in which they were begun, whatever the clock said. */
    number: Generated<number>;
    id: string;
    at: number;
    /** The project; for a remote server that names no project, the server's address. */
    realm: string;
    key_print: string;
    /** The client's name, as it says itself. */
    client: string | null;
    tool: string;
    kind: string;
    target_id: string | null;
    target_key: string | null;
    name: string | null;
    state: "begun" | "done";
    /** As JSON. */
    effects: string;
    /** What cannot be restored. */
    note: string | null;
    undoes: string | null;
    undone_by: string | null;
    /** Of the effects, in characters. */
    size: number;
  };
};
