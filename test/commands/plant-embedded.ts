import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import { clock, openEmbedded, random, setAlarm } from "../../src/app/process/embedded.ts";
import { budgets } from "../../src/contract/limits.ts";
import { links, type Link } from "../../src/contract/links.ts";
import { issueKey } from "../../src/service/keys.ts";
import { createService } from "../support/api-description.ts";
import { join } from "node:path";
import { openDatabase } from "../../src/sql/engine.ts";

/** Creates links in a data folder through the service, without a server. */

const readLinkOrigin = () => "http://{subdomain}.localhost";

export async function plantEmbedded(
  data: string,
  links: readonly Readonly<Record<string, unknown>>[],
): Promise<void> {
  const { store } = await openEmbedded({ data });
  const service = createService({ store, clock, random, setAlarm, readLinkOrigin, report });
  const { id: project_id } = await store.db
    .selectFrom("projects")
    .select("id")
    .executeTakeFirstOrThrow();
  const wanted = { project_id, scopes: [], role: "owner" } as const;
  for (let start = 0; start < links.length; start += budgets.link_writes.limit) {
    // No key may write more links in a minute.
    const { token } = await store.write((db) => issueKey(db, { clock, random }, wanted));
    const headers = { authorization: `Token ${token}`, "content-type": "application/json" };
    for (const link of links.slice(start, start + budgets.link_writes.limit)) {
      const body = JSON.stringify(link);
      const request = { method: "POST", url: "http://x/api/v1/links", headers, body };
      expect((await service.answer(request)).status).toBe(201);
    }
  }
  await store.close();
}

/** Returns the links of a data folder as the API returns them to the owner, oldest first. */
export async function listEmbedded(data: string, filter = ""): Promise<readonly Link[]> {
  const { store, keyFile } = await openEmbedded({ data });
  const service = createService({ store, clock, random, setAlarm, readLinkOrigin, report });
  const authorization = `Token ${(await readFile(keyFile, "utf8")).trim()}`;
  const url = `http://x/api/v1/links?limit=100&q[s]=created_at+asc&${filter}`;
  const { body } = await service.answer({ method: "GET", url, headers: { authorization } });
  const { links: found, meta } = links.index.response.parse(body);
  expect(found).toHaveLength(meta.count);
  await store.close();
  return found;
}

function report(error: unknown): never {
  throw error;
}

/** Adds so many rows to an unused data folder that copying them takes a while. */
export function plantShortPaths(folder: string, count: number): void {
  const database = openDatabase(join(folder, "waypost.db"));
  database.exec(`
    insert into short_paths (project_id, path, link_id, query, place)
    with recursive each(n) as (select 1 union all select n + 1 from each where n < ${count})
    select project_id, 'path-' || n, id, 'q=' || n, 0 from links, each
  `);
  database.close();
}
