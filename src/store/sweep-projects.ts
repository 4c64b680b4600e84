import type { Db } from "./tenant.ts";

const projectsAtOnce = 100;

/**
 * All projects, so many at a time. What is kept by project is asked for by its projects: where
 * these are on many machines, so is that.
 */
export async function* sweepProjects(db: Db): AsyncGenerator<readonly string[]> {
  for (let last = ""; ;) {
    const some = db.selectFrom("projects").select("id").where("id", ">", last).orderBy("id");
    const rows = await some.limit(projectsAtOnce).execute();
    if (rows.length === 0) return;
    yield rows.map(({ id }) => id);
    last = rows.at(-1)?.id ?? "";
    if (rows.length < projectsAtOnce) return;
  }
}
