import { UsageFault } from "../../config.ts";
import { findProject, findProjectNamed, type StoredProject } from "../../store/projects.ts";
import type { Db } from "../../store/tables.ts";

/** Finds a project by ID or subdomain. If only one exists, the name may be omitted. */
export async function requireProject(db: Db, name: string | undefined): Promise<StoredProject> {
  const found = name === undefined ? await findOnlyProject(db) : await findNamed(db, name);
  if (found !== undefined) return found;
  throw new UsageFault(
    name === undefined
      ? "choose a project with --project; waypost projects list shows all of them"
      : `the project ${name} does not exist; run waypost projects list to see all projects`,
  );
}

async function findNamed(db: Db, name: string): Promise<StoredProject | undefined> {
  return (await findProject(db, name)) ?? findProjectNamed(db, "subdomain", name.toLowerCase());
}

/** Undefined where there are several. */
export async function findOnlyProject(db: Db): Promise<StoredProject | undefined> {
  const rows = await db.selectFrom("projects").select("id").limit(2).execute();
  const [only, other] = rows;
  return only === undefined || other !== undefined ? undefined : findProject(db, only.id);
}
