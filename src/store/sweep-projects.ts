import { readOutage } from "../sql/faults.ts";
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

export type Sweep = {
  /** Those of some projects for which there is something to do. */
  readonly find: (projects: readonly string[]) => Promise<readonly string[]>;
  readonly work: (projectId: string) => Promise<void>;
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
};

/** Where it fails for one project, the others have their turn; a store that is away ends it. */
export async function workOnEach(db: Db, { find, work, signal, onError }: Sweep): Promise<void> {
  for await (const projects of sweepProjects(db)) {
    for (const projectId of await find(projects)) {
      if (signal.aborted) return;
      await work(projectId).catch((error: unknown) => {
        if (readOutage(error) === "away") throw error;
        onError(error);
      });
    }
    if (signal.aborted) return;
  }
}
