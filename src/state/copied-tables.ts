import type { CopiedTables } from "../sql/copied-tables.ts";
import { stateMigrations } from "./state.ts";

/** What a copy of the state takes along. */
export const stateCopy: CopiedTables = {
  migrations: stateMigrations,
  tables: [
    { name: "secrets", key: ["name"] },
    { name: "approvals", key: ["id"] },
    { name: "pin_tries", key: ["rowid"], leaves: ["rowid"] },
    { name: "overwrites", key: ["id"], leaves: ["id"] },
    { name: "overwrite_grants", key: ["key_print"] },
    { name: "known_access", key: ["key_print", "origin", "tool"] },
    { name: "hidden_forms", key: ["key_print", "client"] },
    { name: "plans", key: ["id"] },
    { name: "plan_rows", key: ["plan_id", "position"] },
    // Those of one moment stay in the order in which they were begun.
    { name: "jobs", key: ["rowid"], leaves: ["rowid"] },
    { name: "job_rows", key: ["plan_id", "position"] },
    { name: "turns", key: ["key_print", "kind"] },
    { name: "spent", key: ["id"], leaves: ["id"] },
    { name: "changes", key: ["realm", "number"], leaves: ["number"] },
    { name: "successors", key: ["realm", "id"] },
    { name: "history_gaps", key: ["realm"] },
    { name: "exports", key: ["key_print", "id", "page"] },
    { name: "previews", key: ["token_hash"] },
    { name: "notices", key: ["realm", "id"] },
  ],
  // Whoever was signed in does so again, at the place that has the copy now.
  left: ["console_sessions", "sign_in_tries"],
};
