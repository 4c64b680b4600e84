import type { Generated, Kysely } from "kysely";

export type Db = Kysely<StateTables>;

/** What Waypost remembers between calls and processes, as the database has it. */
export type StateTables = {
  approvals: {
    id: string;
    /** Of the approval request: key, tool, arguments, target and its state. */
    digest: string;
    /** The key that asked, where a page is to answer it. */
    key_print: string;
    /** The hash of the PIN that its page asks for, whichever process shows it; null for none. */
    pin: string | null;
    channel: "page" | "sealed";
    /** Used once the request went through; told once the assistant knows that it was declined. */
    status: "waiting" | "approved" | "used" | "declined" | "told";
    /** What a person is shown, as JSON. */
    preview: string;
    /** How many wrong PINs were typed. */
    pin_tries: number;
    created_at: number;
    expires_at: number;
  };
  /** One row for each wrong PIN; the engine numbers the rows. */
  pin_tries: { rowid: Generated<number>; key_print: string; at: number };
  /** When a key has overwritten something that nobody was asked about. */
  overwrites: { id: Generated<number>; key_print: string; at: number };
  overwrite_grants: { key_print: string; remaining: number; granted_at: number };
  exports: {
    id: string;
    page: number;
    key_print: string;
    type: string;
    text: string;
    expires_at: number;
  };
  /** One row for each call of a budget, by the time of day: processes share no other clock. */
  spent: { id: Generated<number>; key_print: string; budget: string; at: number };
  /** When the next row of a key's jobs is due. */
  turns: { key_print: string; kind: string; next_at: number };
  plans: {
    id: string;
    key_print: string;
    origin: string;
    operation: string;
    undoes: string | null;
    /** Both as JSON. */
    counts: string;
    problems: string;
    created_at: number;
    expires_at: number;
    /** As JSON. */
    request: string;
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
  };
  jobs: {
    id: string;
    plan_id: string;
    key_print: string;
    state: "running" | "done" | "cancelled" | "interrupted";
    /** Why it was interrupted. */
    message: string | null;
    /** The process that applies it until `runs_until`; then another one may resume it. */
    runner: string | null;
    runs_until: number;
    created_at: number;
    updated_at: number;
    /**
     * The service's own id of the key, and empty for a remote server's key. Null where no start
     * resumes the job.
     */
    key_id: string | null;
    /** In whose history it is, as `changes` has it; null where it is in none. */
    realm: string | null;
  };
  /** Each plan has one job: these are its rows, under the numbers that the plan gave them. */
  job_rows: {
    plan_id: string;
    position: number;
    status: "sent" | "done" | "rejected" | "unknown";
    link_id: string | null;
    /** A new link as it was made, as JSON. */
    made: string | null;
    message: string | null;
  };
  changes: {
    /** In the order in which they were begun, whatever the clock said. */
    number: Generated<number>;
    id: string;
    at: number;
    /** The project; of a deployment that tells no project, its address. */
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
    /** What cannot be put back. */
    note: string | null;
    undoes: string | null;
    undone_by: string | null;
    /** Of the effects, in characters. */
    size: number;
  };
  known_access: {
    key_print: string;
    origin: string;
    tool: string;
    state: "granted" | "denied" | "unknown";
    reason: string | null;
    shows_kind: number;
    at: number;
    until: number;
  };
  /** `client` is a digest of its name and version. */
  hidden_forms: { key_print: string; client: string; at: number };
  previews: { token_hash: string; key_print: string; html: string; expires_at: number };
  /** A session, or an address that begins one and can be opened once. */
  console_sessions: {
    token_hash: string;
    kind: "session" | "address";
    /** The secret that was signed in with, for whoever has the token. */
    sealed: string;
    expires_at: number;
  };
  /** One row for each time that somebody failed to sign in; the engine numbers the rows. */
  sign_in_tries: { id: Generated<number>; address: string; at: number };
  /** What webhooks are still to be told; `data` as JSON. */
  notices: {
    id: string;
    realm: string;
    event: "job.finished" | "approval.waiting";
    subject: string;
    data: string;
    at: number;
  };
  successors: { realm: string; id: string; successor_id: string; at: number };
  /** When the newest change began that a project's history dropped for room. */
  history_gaps: { realm: string; at: number };
  /** And, in a database of many machines, where the owner's key was written. */
  secrets: { name: string; value: string };
};
