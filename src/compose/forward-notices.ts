import type { Jobs } from "../state/jobs.ts";
import type { Notice } from "../state/notices.ts";
import { queueEvents } from "../store/deliveries.ts";
import type { Store } from "../store/store.ts";
import type { LazyState } from "./lazy-state.ts";

/** Of those that came about meanwhile, the rest is taken over a second later. */
const mostAtOnce = 100;

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
    const { notices, jobs } = await state.open();
    const taken: Notice[] = [];
    for (const notice of await notices.list(mostAtOnce)) {
      const { id, realm: projectId, event, at } = notice;
      const about = await describe(notice, jobs);
      if (about === undefined) continue;
      taken.push(notice);
      const queued = { id, event, data: { project_id: projectId, ...about } };
      const isPatient = true;
      await store.write((db) => queueEvents({ db, projectId }, [queued], at), { isPatient });
    }
    await notices.remove(taken);
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
