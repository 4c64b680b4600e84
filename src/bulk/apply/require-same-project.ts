import { links } from "../../contract/links.ts";
import type { Receipt } from "../../state/job-runs.ts";
import type { Job } from "../../state/jobs.ts";
import type { Plan } from "../../state/plans.ts";
import type { State } from "../../state/state.ts";
import { OtherProject } from "../bulk-errors.ts";
import type { Asking } from "../owner.ts";
import { findById } from "../select/find-links.ts";

/** How many of the plan's links are looked for at most. */
const mostProofs = 10;

/**
 * A key silently chooses its project, and may be another one by now: some link that the plan knows
 * must still be there. Links may go, but not all at once.
 */
export async function requireSameProject(
  asking: Asking,
  { plans, jobs }: Pick<State, "plans" | "jobs">,
  plan: Plan,
  job: Job,
): Promise<void> {
  const first = await jobs.listReceipts(job, { limit: 100 });
  const open = await jobs.listReceipts(job, { limit: 100, only: "open" });
  const left = await plans.listRows(plan.id, { actions: ["unchanged"], limit: 100 });
  const sound = [...first, ...open].filter(shouldBeThere);
  const known = new Set([...sound, ...left].flatMap(({ link_id }) => link_id ?? []));
  const ids = spread([...known]);
  for (const id of ids) if ((await findById(asking, id)) !== undefined) return;
  if (ids.length > 0) {
    throw new OtherProject(
      "Waypost checked some of the plan's links, and none of them exists anymore.",
    );
  }
  // No link of the plan can be looked for: one request only checks that the key is accepted.
  await asking.call(links.index, { limit: 1 }, asking.signal);
}

/** A link that the job has deleted, or may have, proves nothing; neither does one yet to return. */
function shouldBeThere({ planned, status }: Receipt): boolean {
  if (planned.action === "create") return status === "done";
  return planned.action === "delete" ? status === null : true;
}

/** Evenly spread over the list: neighbours may have been deleted together by another caller. */
function spread(ids: readonly string[]): readonly string[] {
  const step = Math.max(1, Math.ceil(ids.length / mostProofs));
  return ids.filter((_, index) => index % step === 0);
}
