import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { migrate } from "../../src/sql/migrate.ts";
import { openSqlite } from "../../src/sql/sqlite.ts";
import { listLinks } from "../../src/store/links.ts";
import { init } from "../../src/store/migrations/001-init.ts";
import { pageTemplates } from "../../src/store/migrations/002-page-templates.ts";
import { clicks } from "../../src/store/migrations/003-clicks.ts";
import { bin } from "../../src/store/migrations/004-bin.ts";
import { destinations } from "../../src/store/migrations/005-destinations.ts";
import { shortPaths } from "../../src/store/migrations/006-short-paths.ts";
import { readTally } from "../../src/store/project-tallies.ts";
import { openStore } from "../../src/store/store.ts";
import type { Tables } from "../../src/store/tables.ts";
import { wholeIndex } from "../../src/store/engines/link-search.ts";
import { neverRing } from "../support/alarms.ts";
import { staying } from "../support/rows.ts";

/** A store of an earlier version, whose links could be found by name and path alone. */

const projectId = "018f0000-0000-7000-8000-000000000001";
const earlier = [init, pageTemplates, clicks, bin, destinations, shortPaths];

test("links of an earlier version are found by their destinations, with an index too", async () => {
  const folder = await mkdtemp(join(tmpdir(), "waypost-earlier-"));
  const sqlite = await openSqlite<Tables>(join(folder, "waypost.db"), { applicationId: 1 });
  await migrate(sqlite, { table: "migrations", list: earlier });
  const urls = ["https://Old.example/ONE", "https://old.example/ÉTÉ", null];
  await sqlite.write(async (db) => {
    await sql`
      insert into tallies (project_id, links, generation, indexed_to)
      values (${projectId}, ${urls.length}, 0, ${wholeIndex})
    `.execute(db);
    await sql`
      create virtual table ${sql.table(`links_contains_${projectId.replaceAll("-", "")}`)}
      using fts5 (name, path, shortened_path, content='', contentless_delete=1,
        tokenize='trigram case_sensitive 1')
    `.execute(db);
    for (const [index, url] of urls.entries()) {
      const path = `link-${index}`;
      await sql`
        insert into links (project_id, id, path, path_lc, url, enable_forced_redirect,
          ios_deferred_deep_linking_enabled, clicks, created_via, created_at, updated_at)
        values (${projectId}, ${path}, ${path}, ${path}, ${url}, 0, 0, 0, 'api', ${index}, 0)
      `.execute(db);
    }
  });
  const store = await openStore(sqlite, neverRing);
  const tenant = { db: store.db, projectId };
  const find = async (value: string) => {
    const test = { field: "url", kind: "text", condition: "cont", value } as const;
    const filters = [{ join: "and", tests: [test] }] as const;
    const sorts = [{ field: "created_at", direction: "asc" }] as const;
    const query = { page: 1, limit: 10, filters, sorts };
    const { items } = await listLinks(tenant, store, query, staying);
    return items.map(({ path }) => path);
  };
  for (const indexed_to of ["", wholeIndex]) {
    expect(await readTally(tenant)).toMatchObject({ indexed_to });
    expect(await find("OLD.example")).toEqual(["link-0", "link-1"]);
    expect(await find("éTé")).toEqual(["link-1"]);
    expect(await find("/one")).toEqual(["link-0"]);
    await store.finishChores();
  }
  await store.close();
  await rm(folder, { recursive: true, force: true });
});
