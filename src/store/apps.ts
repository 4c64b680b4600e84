import { sql, type RawBuilder } from "kysely";
import type { AndroidApp, IosApp } from "../contract/apps.ts";
import type { ListQuery } from "../contract/filters.ts";
import type { AndroidAppValues, IosAppValues } from "../contract/rules/app-rules.ts";
import { fold } from "../contract/text.ts";
import { detachBatch } from "./chores.ts";
import { countRows, readPage, type ListSource, type Page } from "./list-page.ts";
import { tallyWrite } from "./project-tallies.ts";
import { queueChore } from "./queue-chore.ts";
import type { AndroidAppTable, ChoreTable, IosAppTable } from "./tables.ts";
import type { Tenant } from "./tenant.ts";

/** One kind of app registration, iOS or Android: they differ in their columns alone. */
export type AppStore<App, Values> = {
  readonly find: (tenant: Tenant, id: string) => Promise<App | undefined>;
  /** By bundle id or package name, which is unique in the project. */
  readonly findNamed: (tenant: Tenant, identifier: string) => Promise<App | undefined>;
  readonly list: (tenant: Tenant, query: ListQuery) => Promise<Page<App>>;
  readonly insert: (tenant: Tenant, id: string, values: Values, now: number) => Promise<App>;
  readonly update: (tenant: Tenant, id: string, values: Values, now: number) => Promise<App>;
  /**
   * Deletes an app and detaches its links; undefined when there was none. Where the app has many
   * links, a chore detaches the rest.
   */
  readonly remove: (tenant: Tenant, id: string) => Promise<{ chore?: ChoreTable } | undefined>;
};

type AppTable<App, Values, Row> = {
  readonly table: "ios_apps" | "android_apps";
  readonly identifier: string;
  readonly detach: "detach_ios_app" | "detach_android_app";
  /** The fields that filter and sort; each has a folded column beside it. */
  readonly searched: readonly (keyof Values & keyof Row & string)[];
  readonly required: readonly string[];
  readonly toApp: (row: Row) => App;
  readonly toColumns: (values: Values) => Readonly<Record<string, string | null>>;
};

export const iosAppStore = createAppStore<IosApp, IosAppValues, IosAppTable>({
  table: "ios_apps",
  identifier: "bundle_id",
  detach: "detach_ios_app",
  searched: ["name", "bundle_id", "team_id", "clip_bundle_id", "custom_scheme"],
  required: ["bundle_id", "team_id"],
  toApp: ({ id, name, bundle_id, team_id, app_store_id, clip_bundle_id, custom_scheme }) => {
    return { id, name, bundle_id, team_id, app_store_id, clip_bundle_id, custom_scheme };
  },
  toColumns: (values) => values,
});

export const androidAppStore = createAppStore<AndroidApp, AndroidAppValues, AndroidAppTable>({
  table: "android_apps",
  identifier: "package_name",
  detach: "detach_android_app",
  searched: ["name", "package_name", "custom_scheme"],
  required: ["package_name"],
  toApp: ({ id, name, package_name, fingerprints, custom_scheme }) => {
    // We wrote this column ourselves, as the JSON of a list of texts.
    const list = JSON.parse(fingerprints) as string[];
    return { id, name, package_name, fingerprints: list, custom_scheme };
  },
  toColumns: (values) => ({ ...values, fingerprints: JSON.stringify(values.fingerprints) }),
});

function createAppStore<App, Values extends object, Row>({
  table,
  identifier,
  detach,
  searched,
  required,
  toApp,
  toColumns,
}: AppTable<App, Values, Row>): AppStore<App, Values> {
  const from = sql.table(table);
  const findBy = async ({ db, projectId }: Tenant, column: string, value: string) => {
    const { rows } = await sql<Row>`
      select * from ${from} where project_id = ${projectId} and ${sql.ref(column)} = ${value}
    `.execute(db);
    return rows[0] && toApp(rows[0]);
  };
  const fillRow = (values: Values, now: number) => [
    ...fillColumns(toColumns(values), searched),
    [sql.ref("updated_at"), now] as const,
  ];

  return {
    find: (tenant, id) => findBy(tenant, "id", id),
    findNamed: (tenant, name) => findBy(tenant, identifier, name),

    list: async ({ db, projectId }, query) => {
      const source = describeApps(table, projectId, searched, required);
      const count = await countRows(db, source, query);
      const { items, meta } = await readPage<Row>(db, source, query, count);
      return { items: items.map(toApp), meta };
    },

    insert: async (tenant, id, values, now) => {
      await tallyWrite(tenant, 0);
      const cells = fillRow(values, now);
      const { rows } = await sql<Row>`
        insert into ${from}
        (project_id, id, created_at, ${sql.join(cells.map(([column]) => column))})
        values (${tenant.projectId}, ${id}, ${now}, ${sql.join(cells.map(([, value]) => value))})
        returning *
      `.execute(tenant.db);
      return toApp(takeOne(rows));
    },

    update: async (tenant, id, values, now) => {
      await tallyWrite(tenant, 0);
      const changes = fillRow(values, now).map(([column, value]) => sql`${column} = ${value}`);
      const { rows } = await sql<Row>`
        update ${from} set ${sql.join(changes)}
        where project_id = ${tenant.projectId} and id = ${id} returning *
      `.execute(tenant.db);
      return toApp(takeOne(rows));
    },

    remove: async (tenant, id) => {
      const { db, projectId } = tenant;
      const { numAffectedRows } = await sql`
        delete from ${from} where project_id = ${projectId} and id = ${id}
      `.execute(db);
      if (numAffectedRows === 0n) return undefined;
      await tallyWrite(tenant, 0);
      if (await detachBatch(tenant, detach, id)) return {};
      const chore = { kind: detach, project_id: projectId, subject: id };
      await queueChore(db, chore);
      return { chore };
    },
  };
}

/** Each column with its value, and its folded text beside it where the field is searched. */
function fillColumns(
  columns: Readonly<Record<string, string | null>>,
  searched: readonly string[],
): readonly (readonly [RawBuilder<unknown>, string | null])[] {
  const folded = searched.map((field) => {
    const value = columns[field] ?? null;
    return [`${field}_lc`, value === null ? null : fold(value)] as const;
  });
  return [...Object.entries(columns), ...folded].map(([name, value]) => [sql.ref(name), value]);
}

function describeApps(
  table: string,
  projectId: string,
  searched: readonly string[],
  required: readonly string[],
): ListSource {
  const texts = searched.map((column) => {
    const isNullable = !required.includes(column);
    return [column, { column, folded: `${column}_lc`, isNullable }] as const;
  });
  const columns = { ...Object.fromEntries(texts), created_at: { column: "created_at" } };
  return { table, columns, ownRows: sql`project_id = ${projectId}` };
}

function takeOne<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined) throw new Error("a written row did not come back");
  return row;
}
