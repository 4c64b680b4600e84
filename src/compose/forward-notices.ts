import type { Jobs } from "../state/jobs.ts";
import type { Notice } from "../state/kept-values.ts";
import { queueEvents } from "../store/webhooks.ts";
import type { Store } from "../store/store.ts";
import type { LazyState } from "./lazy-state.ts";

/**
 * Takes over what webhooks are to be told of jobs and approvals. What is taken over twice, because
 * a process was killed between the two, has the same id.
 */
export function createForwarder(
  store: Pick<Store, "write">,
  state: Pick<LazyState, "exists" | "open">,
) {
  return async (): Promise<void> => {
    if (!state.exists()) return;
    const { kept, jobs } = await state.open();
    const taken: string[] = [];
    for (const { key: id, value: notice } of await kept.list("notice")) {
      const { realm: projectId, event, at } = notice;
      const about = await describe(notice, jobs);
      if (about === undefined) continue;
      taken.push(id);
      const queued = { id, event, data: about };
      const isPatient = true;
      await store.write((db) => queueEvents({ db, projectId }, [queued], at), { isPatient });
    }
    await kept.remove("notice", taken);
  };
}

/** Undefined while rows of a cancelled job are still on the way. */
async function describe({ event, subject, data }: Notice, jobs: Jobs) {
  if (event === "approval.waiting") return { approval: data };
  const job = await jobs.find(subject);
  if (job === undefined) return { job: data };
  if (job.isHeld) return undefined;
  const { id, plan_id, operation, state, counts } = job;
  return { job: { id, plan_id, operation, state, counts } };
}
