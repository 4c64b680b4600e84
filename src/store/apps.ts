import { sql, type RawBuilder } from "kysely";
import type { AndroidApp, IosApp } from "../contract/apps.ts";
import type { ListQuery } from "../contract/filters.ts";
import type { AndroidAppValues, IosAppValues } from "../contract/rules/app-rules.ts";
import { fold } from "../contract/text.ts";
import { removeApp, restoreApp, type DeletedApp, type MoreWork } from "./app-bin.ts";
import { findInBin, type Restored } from "./bin.ts";
import { describeTime } from "./filters.ts";
import { countRows, readPage, type ListSource, type Page } from "./list-page.ts";
import { tallyWrite } from "./project-tallies.ts";
import type { AndroidAppTable, AppKind, IosAppTable } from "./tables.ts";
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
   * Puts an app into the bin and detaches its links; undefined when there was none. Where the app
   * has many links, a chore detaches the rest.
   */
  readonly remove: (tenant: Tenant, id: string, now: number) => Promise<MoreWork | undefined>;
  /** Brings an app back, with the links that it was on; undefined when it is not in the bin. */
  readonly restore: (
    tenant: Tenant,
    id: string,
    now: number,
  ) => Promise<Restored<MoreWork & { readonly app: App }> | undefined>;
};

type AppTable<App, Values, Row> = {
  readonly kind: AppKind;
  readonly identifier: string;
  /** The fields that filter and sort; each has a folded column beside it. */
  readonly searched: readonly (keyof Values & keyof Row & string)[];
  readonly required: readonly string[];
  readonly toApp: (row: Row) => App;
  readonly toColumns: (values: Values) => Readonly<Record<string, string | null>>;
};

export const iosAppStore = createAppStore<IosApp, IosAppValues, IosAppTable>({
  kind: "ios_app",
  identifier: "bundle_id",
  searched: ["name", "bundle_id", "team_id", "clip_bundle_id", "custom_scheme"],
  required: ["bundle_id", "team_id"],
  toApp: ({ id, name, bundle_id, team_id, app_store_id, clip_bundle_id, custom_scheme }) => {
    return { id, name, bundle_id, team_id, app_store_id, clip_bundle_id, custom_scheme };
  },
  toColumns: (values) => values,
});

export const androidAppStore = createAppStore<AndroidApp, AndroidAppValues, AndroidAppTable>({
  kind: "android_app",
  identifier: "package_name",
  searched: ["name", "package_name", "custom_scheme"],
  required: ["package_name"],
  toApp: ({ id, name, package_name, fingerprints, custom_scheme }) => {
    // We wrote this column ourselves, as the JSON of a list of texts.
    const list = JSON.parse(fingerprints) as string[];
    return { id, name, package_name, fingerprints: list, custom_scheme };
  },
  toColumns: (values) => ({ ...values, fingerprints: JSON.stringify(values.fingerprints) }),
});

/** Whether one of the project's apps is opened by addresses of that scheme. */
export async function hasAppWithScheme(
  { db, projectId }: Tenant,
  scheme: string,
): Promise<boolean> {
  for (const table of ["ios_apps", "android_apps"] as const) {
    const found = await db
      .selectFrom(table)
      .select("id")
      .where("project_id", "=", projectId)
      .where("custom_scheme_lc", "=", fold(scheme))
      .executeTakeFirst();
    if (found !== undefined) return true;
  }
  return false;
}

function createAppStore<App, Values extends object, Row>({
  kind,
  identifier,
  searched,
  required,
  toApp,
  toColumns,
}: AppTable<App, Values, Row>): AppStore<App, Values> {
  const table = `${kind}s`;
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

    list: async (tenant, query) => {
      const { db } = tenant;
      const source = describeApps(tenant, table, searched, required);
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

    remove: (tenant, id, now) => removeApp(tenant, kind, id, now),

    restore: async (tenant, id, now) => {
      const deleted: DeletedApp | undefined = await findInBin(tenant, kind, id, now);
      if (deleted === undefined) return undefined;
      const name = String(deleted.row[identifier]);
      if ((await findBy(tenant, identifier, name)) !== undefined) return { taken: [identifier] };
      const more = await restoreApp(tenant, kind, deleted);
      return { restored: { app: takeOne([await findBy(tenant, "id", id)]), ...more } };
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
  { db, projectId }: Tenant,
  table: string,
  searched: readonly string[],
  required: readonly string[],
): ListSource {
  const texts = searched.map((column) => {
    const isNullable = !required.includes(column);
    return [column, { column, folded: `${column}_lc`, isNullable }] as const;
  });
  const columns = { ...Object.fromEntries(texts), created_at: describeTime(db, "created_at") };
  return { table, columns, ownRows: sql`project_id = ${projectId}` };
}

function takeOne<Row>(rows: readonly (Row | undefined)[]): Row {
  const [row] = rows;
  if (row === undefined) throw new Error("a written row did not come back");
  return row;
}
