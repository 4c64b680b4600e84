import { sql, type RawBuilder } from "kysely";
import type { AndroidApp, IosApp } from "../contract/apps.ts";
import type { ListQuery } from "../contract/filters.ts";
import type { AndroidAppValues, IosAppValues } from "../contract/rules/app-rules.ts";
import { mostBrowserPaths, readBrowserPath } from "../contract/rules/link-path.ts";
import { fold, isBlank } from "../contract/text.ts";
import { findInBin, putInBin, takeOutOfBin, type Deleted, type Restored } from "./bin.ts";
import { dropTask, queueTask } from "./background-tasks.ts";
import { countRows, describeTime, readPage, type ListSource, type ListPage } from "./lists.ts";
import { attachBatch, detachBatch } from "./links.ts";
import { tallyWrite } from "./projects.ts";
import {
  foldTexts,
  tables,
  type AppKindName,
  type TaskTable,
  type TableColumns,
  type Tables,
  type Tenant,
} from "./tables.ts";

/** Stores iOS and Android apps. Links refer to apps, and change when their app is deleted. */

/** Set if an app has too many links for one transaction. The task changes the remaining links. */
type MoreWork = { readonly task?: TaskTable };

/** Stores the iOS apps or the Android apps. The two stores differ only in their columns. */
export type AppStore<App, Values> = ReturnType<typeof createAppStore<App, Values, never>>;

type AppColumns<App, Values, Row> = {
  readonly kind: AppKindName;
  readonly identifier: string;
  readonly toApp: (row: Row) => App;
  readonly toColumns: (values: Values) => AppCells;
};

type AppCell = string | number | null;
type AppCells = Readonly<Record<string, AppCell>>;

export const iosAppStore = createAppStore<IosApp, IosAppValues, Tables["ios_apps"]>({
  kind: "ios_app",
  identifier: "bundle_id",
  toApp: ({ id, name, bundle_id, team_id, app_store_id, clip_bundle_id, custom_scheme }) => {
    return { id, name, bundle_id, team_id, app_store_id, clip_bundle_id, custom_scheme };
  },
  toColumns: (values) => values,
});

export const androidAppStore = createAppStore<AndroidApp, AndroidAppValues, Tables["android_apps"]>(
  {
    kind: "android_app",
    identifier: "package_name",
    toApp: ({ id, name, package_name, fingerprints, custom_scheme }) => {
      // The cast is safe, because only this store writes the column.
      const list = JSON.parse(fingerprints) as string[];
      return { id, name, package_name, fingerprints: list, custom_scheme };
    },
    toColumns: (values) => ({ ...values, fingerprints: JSON.stringify(values.fingerprints) }),
  },
);

function createAppStore<App, Values, Row>({
  kind,
  identifier,
  toApp,
  toColumns,
}: AppColumns<App, Values, Row>) {
  const from = sql.table(`${kind}s`);
  const withFolded = (cells: AppCells): AppCells => ({ ...cells, ...foldTexts(`${kind}s`, cells) });

  async function findBy({ db, projectId }: Tenant, column: string, value: string) {
    const { rows } = await sql<Row>`
      select * from ${from} where project_id = ${projectId} and ${sql.ref(column)} = ${value}
    `.execute(db);
    return rows[0] && toApp(rows[0]);
  }

  async function write(tenant: Tenant, statement: RawBuilder<unknown>): Promise<App> {
    await tallyWrite(tenant, 0);
    const { rows } = await sql<Row>`${statement} returning *`.execute(tenant.db);
    return toApp(takeOne(rows));
  }

  return {
    find: (tenant: Tenant, id: string) => findBy(tenant, "id", id),
    /** Finds an app by its bundle ID or package name. Each is unique within a project. */
    findNamed: (tenant: Tenant, name: string) => findBy(tenant, identifier, name),

    list: async (tenant: Tenant, query: ListQuery): Promise<ListPage<App>> => {
      const source = describeApps(tenant, kind);
      const count = await countRows(tenant.db, source, query);
      const { items, meta } = await readPage<Row>(tenant.db, source, query, count);
      return { items: items.map(toApp), meta };
    },

    insert: (tenant: Tenant, id: string, values: Values, now: number) => {
      const times = { created_at: now, updated_at: now };
      const row = { project_id: tenant.projectId, id, ...withFolded(toColumns(values)) };
      return write(tenant, insertInto(kind, { ...row, ...times }));
    },

    update: (tenant: Tenant, id: string, values: Values, now: number) => {
      const row = { ...withFolded(toColumns(values)), updated_at: now };
      const changes = Object.entries(row).map(
        ([column, value]) => sql`${sql.ref(column)} = ${value}`,
      );
      const which = sql`project_id = ${tenant.projectId} and id = ${id}`;
      return write(tenant, sql`update ${from} set ${sql.join(changes)} where ${which}`);
    },

    /** Moves an app to the bin and detaches its links. Returns undefined for an unknown app. */
    remove: (tenant: Tenant, id: string, now: number) => removeApp(tenant, kind, id, now),

    /** Restores an app and attaches its former links. Undefined if the app is not in the bin. */
    restore: async (
      tenant: Tenant,
      id: string,
      now: number,
    ): Promise<Restored<MoreWork & { readonly app: App }> | undefined> => {
      const deleted: Deleted<AppCells> | undefined = await findInBin(tenant, kind, id, now);
      if (deleted === undefined) return undefined;
      const name = String(deleted.row[identifier]);
      if ((await findBy(tenant, identifier, name)) !== undefined) return { taken: [identifier] };
      const { projectId: project_id } = tenant;
      const app = await write(tenant, insertInto(kind, { ...deleted.row, project_id }));
      await takeOutOfBin(tenant, kind, id);
      return { restored: { app, ...(await changeLinks(tenant, kind, id, "attach")) } };
    },
  };
}

async function removeApp(
  tenant: Tenant,
  kind: AppKindName,
  id: string,
  now: number,
): Promise<MoreWork | undefined> {
  const { db, projectId } = tenant;
  const { rows } = await sql<{ readonly project_id: string; readonly id: string }>`
    delete from ${sql.table(`${kind}s`)} where project_id = ${projectId} and id = ${id} returning *
  `.execute(db);
  const [row] = rows;
  if (row === undefined) return undefined;
  await tallyWrite(tenant, 0);
  await putInBin(tenant, kind, row, now);
  return changeLinks(tenant, kind, id, "detach");
}

const batches = { attach: attachBatch, detach: detachBatch };

/** Changes the app's first batch of links, and queues a task for the remaining ones. */
async function changeLinks(
  tenant: Tenant,
  kind: AppKindName,
  id: string,
  act: "attach" | "detach",
): Promise<MoreWork> {
  const ofApp = { project_id: tenant.projectId, subject: id };
  // Cancel the opposite task if it has not finished. The links that it has not changed are already
  // in the right state.
  const opposite = act === "attach" ? "detach" : "attach";
  await dropTask(tenant.db, { kind: `${opposite}_${kind}`, ...ofApp });
  if (await batches[act](tenant, kind, id)) return {};
  const task = { kind: `${act}_${kind}`, ...ofApp } as const;
  await queueTask(tenant.db, task);
  return { task };
}

function insertInto(kind: AppKindName, row: AppCells): RawBuilder<unknown> {
  const columns = sql.join(Object.keys(row).map((column) => sql.ref(column)));
  return sql`
    insert into ${sql.table(`${kind}s`)} (${columns}) values (${sql.join(Object.values(row))})
  `;
}

/** Lists the columns that can be filtered and sorted: those with a case-folded copy. */
function listSearched(kind: AppKindName) {
  const columns: TableColumns = tables[`${kind}s`];
  return Object.entries(columns).filter(([column]) => `${column}_lc` in columns);
}

function describeApps({ db, projectId }: Tenant, kind: AppKindName): ListSource {
  const texts = listSearched(kind).map(([column, { type }]) => {
    const isNullable = !type.endsWith("not null");
    return [column, { column, folded: `${column}_lc`, isNullable }] as const;
  });
  const columns = { ...Object.fromEntries(texts), created_at: describeTime(db, "created_at") };
  return { table: `${kind}s`, columns, ownRows: sql`project_id = ${projectId}` };
}

function takeOne<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined) throw new Error("a written row was not returned");
  return row;
}

export async function hasAppWithScheme(
  { db, projectId: project_id }: Tenant,
  scheme: string,
): Promise<boolean> {
  const which = { project_id, custom_scheme_lc: fold(scheme) };
  for (const table of ["ios_apps", "android_apps"] as const) {
    const apps = db.selectFrom(table).select("id");
    const app = await apps.where((row) => row.and(which)).executeTakeFirst();
    if (app !== undefined) return true;
  }
  return false;
}

/** The paths of links without an app. Phones must open these paths in the browser. */
export type BrowserPaths = {
  readonly paths: readonly string[];
  readonly areAll: boolean;
};

/**
 * Lists the paths of links without an app, oldest link first, so that new links never displace
 * older ones when the limit is reached. Additional short paths come last.
 */
export async function listBrowserPaths({ db, projectId }: Tenant): Promise<BrowserPaths> {
  // The index `links_of_no_app` contains exactly these links, in this order.
  const links = await db
    .selectFrom("links")
    .select(["id", "path", "shortened_path"])
    .where("project_id", "=", projectId)
    .where("ios_app_id", "is", null)
    .where("android_app_id", "is", null)
    .orderBy("created_at")
    .orderBy("id")
    .limit(mostBrowserPaths + 1)
    .execute();
  const shortPaths = await db
    .selectFrom("short_paths")
    .select("path")
    .where("project_id", "=", projectId)
    .where("link_id", "in", [...links.map(({ id }) => id), ""])
    .orderBy("path")
    .limit(mostBrowserPaths + 1)
    .execute();
  const named = [
    ...links.flatMap(({ path, shortened_path }) => [path, shortened_path ?? ""]),
    ...shortPaths.map(({ path }) => path),
  ].filter((path) => !isBlank(path));
  const paths = named.flatMap((path) => readBrowserPath(path) ?? []).slice(0, mostBrowserPaths);
  return { paths, areAll: paths.length === named.length };
}
