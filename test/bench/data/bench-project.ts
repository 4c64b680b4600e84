import { clock, random } from "../../../src/app/process/embedded.ts";
import { issueKey } from "../../../src/service/keys.ts";
import { createId } from "../../../src/service/ids.ts";
import type { Db } from "../../../src/store/tables.ts";
import type { Access } from "./data-file.ts";

/** A project with so many keys that no rate limit is reached: 600 writes a minute per key. */
export type BenchProject = {
  readonly projectId: string;
  readonly subdomain: string;
  readonly keys: readonly string[];
};

const maker = { clock, random };

export async function addBenchProject(
  file: Pick<Access, "write">,
  subdomain: string,
  keys = 250,
): Promise<BenchProject> {
  return file.write(async (db) => {
    const projectId = await addProject(db, subdomain);
    const wanted = { project_id: projectId, scopes: [], role: "owner" } as const;
    const tokens: string[] = [];
    for (let turn = 0; turn < keys; turn += 1) {
      tokens.push((await issueKey(db, maker, wanted)).token);
    }
    return { projectId, subdomain, keys: tokens };
  });
}

/** The settings are those of the project that the command created. */
async function addProject(db: Db, subdomain: string): Promise<string> {
  const { id: first, ...project } = await db
    .selectFrom("projects")
    .selectAll()
    .where("subdomain", "=", "default")
    .executeTakeFirstOrThrow();
  const tallies = db.selectFrom("tallies").selectAll().where("project_id", "=", first);
  const tally = await tallies.executeTakeFirstOrThrow();
  const id = createId(clock, random);
  await db
    .insertInto("projects")
    .values({ ...project, id, name: subdomain, subdomain })
    .execute();
  await db
    .insertInto("tallies")
    .values({ ...tally, project_id: id })
    .execute();
  return id;
}
