import { join } from "node:path";
import { openEmbedded } from "../../src/app/process/embedded.ts";
import { openDatabase } from "../../src/sql/engine.ts";
import type { Store } from "../../src/store/store.ts";
import { addBenchProject, type BenchProject } from "../bench/data/bench-project.ts";
import { makeFolder } from "../bench/leftovers.ts";
import { serve, type Server, type ServerStartOptions } from "../bench/servers/http-server.ts";
import { createDatabase, type PostgresServer } from "../support/postgres.ts";

/** A separate store, with servers of the built command. */
export type Site = {
  readonly folder: string;
  readonly databaseUrl: string | undefined;
  readonly serve: (serving?: SiteOptions) => Promise<Server>;
  /** No server may run meanwhile, because its writes would stay in its log. */
  readonly addBenchProject: (subdomain: string, keys: number) => Promise<BenchProject>;
  readonly readLinks: () => Promise<readonly Row[]>;
  /** Damage that the database itself reports in its file. */
  readonly findDamage: () => readonly string[];
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type SiteOptions = ServerStartOptions & {
  readonly data?: string;
};

type Row = { readonly path: string; readonly name: string | null };

export async function openSite(server: PostgresServer | undefined): Promise<Site> {
  const folder = makeFolder();
  const { path } = folder;
  const databaseUrl = server && (await createDatabase(server.url));
  const secrets = { database_url: databaseUrl, database_url_file: undefined };
  const withStore = async <Result>(work: (store: Store) => Promise<Result>): Promise<Result> => {
    const { store } = await openEmbedded({ data: path, secrets });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  };
  return {
    folder: path,
    databaseUrl,
    serve: ({ data = path, ...starting } = {}) => {
      const place = databaseUrl === undefined ? [] : ["--database-url", databaseUrl];
      return serve(data, place, starting);
    },
    addBenchProject: (subdomain, keys) => {
      return withStore((store) =>
        addBenchProject({ write: (work) => store.write(work) }, subdomain, keys),
      );
    },
    readLinks: () => {
      return withStore(async ({ db }) => {
        const projects = await db.selectFrom("projects").select("id").execute();
        const ids = projects.map(({ id }) => id);
        const links = db.selectFrom("links").select(["path", "name"]);
        return links.where("project_id", "in", ids).execute();
      });
    },
    findDamage: () => (databaseUrl === undefined ? findDamage(join(path, "waypost.db")) : []),
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  };
}

function findDamage(file: string): readonly string[] {
  const database = openDatabase(file);
  const rows = database.prepare("pragma integrity_check").all();
  database.close();
  return (rows as readonly { readonly integrity_check: string }[])
    .map(({ integrity_check }) => integrity_check)
    .filter((line) => line !== "ok");
}
