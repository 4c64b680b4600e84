import { links } from "../../contract/links.ts";
import type { Job } from "../../state/jobs.ts";
import type { Plan } from "../../state/plans.ts";
import type { State } from "../../state/state.ts";
import { OtherProject } from "../bulk-errors.ts";
import type { Asking } from "../owner.ts";
import { findById } from "../select/find-links.ts";

/** Links that are looked at. */
const mostProofs = 10;

/**
 * A key silently chooses its project, and may be another one by now: some link that the plan knows
 * must still be there. Links may go, but not all at once.
 */
export async function checkProject(
  asking: Asking,
  { plans, jobs }: Pick<State, "plans" | "jobs">,
  plan: Plan,
  job: Job,
): Promise<void> {
  const first = await jobs.listReceipts(job, { limit: 100 });
  const open = await jobs.listReceipts(job, { limit: 100, only: "open" });
  const left = await plans.listRows(plan.id, { actions: ["unchanged"], limit: 100 });
  // What a job has deleted, or may have, is no proof: it is not to be there any more.
  const sound = [...first, ...open].filter(({ planned, status }) => {
    return planned.action === "delete" ? status === null : true;
  });
  const ids = spread([...sound, ...left].flatMap(({ link_id }) => link_id ?? []));
  for (const id of ids) if ((await findById(asking, id)) !== undefined) return;
  if (ids.length > 0) {
    throw new OtherProject("Of the plan's links none that was looked for is there any more.");
  }
  // A plan that makes links alone, or deletes them, proves by itself what it finds.
  await asking.call(links.index, { limit: 1 }, asking.signal);
}

/** Evenly from all of them: those that were made together may have gone together. */
function spread(ids: readonly string[]): readonly string[] {
  const step = Math.max(1, Math.ceil(ids.length / mostProofs));
  return ids.filter((_, index) => index % step === 0);
}
