import type { StateTables } from "../state/tables.ts";
import type { Tables } from "../store/tables.ts";

/**
 * Where the rows of each table lie on Citus, which spreads them over machines; on one machine it
 * says by which column the rows of a statement are found. Citus tells a row's machine by one
 * column: what is unique is unique with it, a statement that names it asks one machine, and one
 * that does not asks all of them.
 *
 * - Spread: a project's rows by the project, so that all that a request needs of it is together.
 *   The rows of plans and exported files are most of what assistants leave behind; they are of a
 *   key, which may reach another project tomorrow, and are asked for by their plan or key.
 * - Shared: on every machine, found before it is known whose data is meant, and seldom written.
 * - Alone: stays on the coordinator, which every process asks. It is small and soon over, and found
 *   by what is in an address or by the time, which tells no machine. What waits there to be done
 *   has its project in its key, and in each statement but those that look for it.
 * - Told: alone as well, and made known to Citus. Every write begins with its process's row there.
 *   Where that is a row of Citus, all machines prepare before any of them commits; a row that it
 *   knows nothing of could be taken back at the end, when a machine has committed the rest already.
 */
type Place =
  | {
      readonly lies: "spread";
      readonly by: string;
      /** The table whose rows with the same value are on the same machine. */
      readonly beside?: keyof Tables | keyof StateTables;
      readonly why: string;
    }
  | { readonly lies: "shared"; readonly why: string }
  | { readonly lies: "told"; readonly why: string }
  | {
      readonly lies: "alone";
      /** The column of its project, where it has one. */
      readonly by?: string;
      readonly why: string;
    };

const ofProject = (why: string): Place => {
  return { lies: "spread", by: "project_id", beside: "links", why };
};
const alone = (why: string): Place => ({ lies: "alone", why });
const queued = (by: string, why: string): Place => ({ lies: "alone", by, why });
const shared = (why: string): Place => ({ lies: "shared", why });

const places: Readonly<Record<keyof Tables | keyof StateTables | Unnamed, Place>> = {
  links: { lies: "spread", by: "project_id", why: "a project's links" },
  addresses: ofProject("joined with its links"),
  short_paths: ofProject("joined with its addresses"),
  tallies: ofProject("written with every link"),
  ios_apps: ofProject("joined with its links"),
  android_apps: ofProject("joined with its links"),
  bin: ofProject("what was deleted in it, in the same transaction"),
  page_templates: ofProject("its one template"),
  page_template_versions: ofProject("joined with its template"),
  visit_batches: ofProject("added to its links"),
  visit_days: ofProject("read with its links"),
  visit_totals: ofProject("written with the visits of its links"),
  webhooks: ofProject("read with every write to its links that they are told of"),
  deliveries: ofProject("written with what they tell of"),
  deferred_visits: ofProject("visits that an install may follow, for ten minutes"),
  changes: {
    lies: "spread",
    by: "realm",
    beside: "links",
    why: "the history of a project, whose id is its realm",
  },
  successors: { lies: "spread", by: "realm", beside: "links", why: "read with the history" },
  history_gaps: { lies: "spread", by: "realm", beside: "links", why: "written with the history" },

  plan_rows: { lies: "spread", by: "plan_id", why: "the rows of a plan" },
  job_rows: {
    lies: "spread",
    by: "plan_id",
    beside: "plan_rows",
    why: "what they came to; each plan has one job",
  },
  exports: { lies: "spread", by: "key_print", why: "files of a key, of megabytes each" },

  projects: shared("found by the host of an address"),
  api_keys: shared("found by the hash of a token; a master key has no project"),
  client_keys: shared("found by the hash of a token, unique over all projects"),

  waypost_writers: { lies: "told", why: "every write begins here, so that it ends as one" },

  plans: alone("one row for each plan, found by its id alone"),
  jobs: alone("one row for each job, of a key and found by its id, its key or its state"),
  chores: queued("project_id", "all of them are looked for every second"),
  approvals: alone("found by what is in an address, for five minutes"),
  pin_tries: alone("counted with approvals, for an hour"),
  overwrites: alone("counted for an hour"),
  overwrite_grants: alone("counted with overwrites"),
  spent: alone("counted for a minute"),
  turns: alone("one row for each key that has jobs"),
  known_access: alone("only in front of a deployment elsewhere"),
  hidden_forms: alone("one row for each client that shows no forms, for a day"),
  previews: alone("found by what is in an address, for ten minutes"),
  console_sessions: alone("found by the hash of a token"),
  sign_in_tries: alone("counted by address, for an hour"),
  secrets: alone("a few texts"),
  notices: queued("realm", "all of them are looked for every second, and soon gone"),
  store_secrets: alone("a few texts"),
  request_counts: alone("what each process has counted for a minute"),
  waypost_processes: alone("who has the database open, for half a minute"),
  migrations: alone("marks of what was done"),
  state_migrations: alone("marks of what was done"),
};

/** Tables that no room has among its own, for whatever it is that makes them. */
type Unnamed = "waypost_writers" | "waypost_processes" | "migrations" | "state_migrations";

export type SpreadTable = { readonly name: string } & Place;

/** Of both schemas, in the order in which they are spread. */
export const spreadTables: readonly SpreadTable[] = Object.entries(places).map(([name, place]) => {
  return { name, ...place };
});

/** The statements that spread them, and what is said of each: a script for psql. */
export function writeDistribution(): readonly string[] {
  return (["alone", "told", "shared", "spread"] as const).flatMap((lies) =>
    spreadTables.filter((table) => table.lies === lies).map(writeOne),
  );
}

function writeOne(table: SpreadTable): string {
  const { name, why } = table;
  if (table.lies === "alone") return `-- ${name} stays on the coordinator: ${why}`;
  return `select ${writeCall(table)}; -- ${why}`;
}

function writeCall(table: Exclude<SpreadTable, { readonly lies: "alone" }>): string {
  const { name } = table;
  if (table.lies === "told") return `citus_add_local_table_to_metadata('${name}')`;
  if (table.lies === "shared") return `create_reference_table('${name}')`;
  const { by, beside = "none" } = table;
  return `create_distributed_table('${name}', '${by}', colocate_with => '${beside}')`;
}
