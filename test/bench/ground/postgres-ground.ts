import { Client } from "pg";
import { openPostgres } from "../../../src/sql/postgres.ts";
import type { Sql } from "../../../src/sql/sql.ts";
import type { LinkTable, Tables } from "../../../src/store/tables.ts";
import { startPostgres } from "../../support/postgres-server.ts";
import type { Build } from "../builds.ts";
import { makeFolder } from "../leftovers.ts";
import { serve } from "../servers/http-server.ts";
import { addApps } from "./ground.ts";
import { addPlot, type Plot } from "./plots.ts";
import { countSamples, createRowMaker, type Seeded, type Wanted } from "./seed.ts";

/** A PostgreSQL of the bench's own, with a store in it that the measured build made. */
type PostgresGround = {
  /** The words that lead a server there. */
  readonly words: readonly string[];
  /** Each server has one of its own beside the database. */
  readonly folder: string;
  readonly file: Pick<Sql<Tables>, "db" | "write">;
  readonly seed: (plot: Plot, links: number) => Promise<Seeded>;
  readonly addPlot: (subdomain: string, keys?: number) => Promise<Plot>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export async function makePostgresGround(build: Build): Promise<PostgresGround> {
  const server = await startPostgres();
  const folder = makeFolder();
  const words = ["--database-url", server.url];
  await (await serve(build, folder.path, words))[Symbol.asyncDispose]();
  const sql = await openPostgres<Tables>(server.url);
  const file = { db: sql.db, write: sql.write };
  return {
    words,
    folder: folder.path,
    file,
    addPlot: (subdomain, keys) => addPlot(file, subdomain, keys),
    seed: async ({ projectId }, links) => {
      const apps = await addApps(file, projectId);
      return seedDatabase(server.url, { links, projectId, ...apps });
    },
    [Symbol.asyncDispose]: async () => {
      await sql.close();
      await server.stop();
      folder[Symbol.dispose]();
    },
  };
}

const batchRows = 5000;

/** As `seedLinks` does it in a file; the indexes are made when the rows are there. */
async function seedDatabase(url: string, wanted: Wanted): Promise<Seeded> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query("set maintenance_work_mem = '1GB'");
    const restore = wanted.links > batchRows ? await dropIndexes(client) : [];
    const seeded = await insertLinks(client, wanted);
    for (const statement of restore) await client.query(statement);
    // As autovacuum does it a minute later.
    await client.query("vacuum analyze");
    return seeded;
  } finally {
    await client.end();
  }
}

/** Those that are no constraint's; answers how they are made. */
async function dropIndexes(client: Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ readonly name: string; readonly made: string }>(`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as made
    from pg_index left join pg_constraint on conindid = indexrelid
    where indrelid in ('links'::regclass, 'addresses'::regclass) and conindid is null`);
  for (const { name } of rows) await client.query(`drop index ${name}`);
  return rows.map(({ made }) => made);
}

type Row = Omit<LinkTable, "rowkey">;

async function insertLinks(client: Client, wanted: Wanted): Promise<Seeded> {
  const { links, projectId } = wanted;
  const makeRow = createRowMaker(wanted);
  const samples: { id: string; path: string }[] = [];
  const isSample = countSamples(links);
  const columns = Object.keys(createRowMaker(wanted)(0)).join(", ");
  for (let start = 0; start < links; start += batchRows) {
    const rows: Row[] = [];
    for (let index = start; index < Math.min(start + batchRows, links); index += 1) {
      const row = makeRow(index);
      rows.push(row);
      if (isSample(index)) samples.push(row);
    }
    const addresses = rows.flatMap(({ id: link_id, path, shortened_path }) => {
      const own = [path, ...(shortened_path === null ? [] : [shortened_path])];
      return own.map((address) => ({ project_id: projectId, address, link_id }));
    });
    const insert = (table: string, names: string, values: readonly object[]) => {
      const read = `select ${names} from json_populate_recordset(null::${table}, $1)`;
      return client.query(`insert into ${table} (${names}) ${read}`, [JSON.stringify(values)]);
    };
    await insert("links", columns, rows);
    await insert("addresses", "project_id, address, link_id", addresses);
  }
  await client.query(
    "update tallies set links = links + $1, generation = generation + $1 where project_id = $2",
    [links, projectId],
  );
  return { samples };
}
