import type { Config } from "../../config.ts";
import type { Jobs } from "../../state/jobs.ts";
import type { Notice } from "../../state/expiring-values.ts";
import type { Store } from "../../store/store.ts";
import type { Db } from "../../store/tables.ts";
import { queueEvents } from "../../store/webhooks.ts";
import { createDeliverer, type Deliverer } from "../../webhooks/deliverer.ts";
import { allowReceivers } from "../../webhooks/send-message.ts";
import { clock, setAlarm } from "./embedded.ts";
import type { LazyState } from "./lazy-state.ts";

/** Sends webhook events, including those about jobs and approvals. */

type DelivererParts = {
  readonly config: Config;
  readonly state: LazyState;
  readonly report: (error: unknown) => unknown;
};

export function openDeliverer(store: Store, { config, state, report }: DelivererParts): Deliverer {
  const policy = allowReceivers(config.webhook_private);
  const collect = createForwarder(store, state);
  return createDeliverer({ store, clock, setAlarm, policy, collect, report });
}

/**
 * Moves notices about jobs and approvals to the queue of webhook events. If the process is killed
 * before it removes a queued notice, the notice is queued again with the same ID.
 */
export function createForwarder(
  store: Pick<Store, "write">,
  state: Pick<LazyState, "exists" | "open">,
) {
  return async (): Promise<void> => {
    if (!state.exists()) return;
    const { kept, jobs } = await state.open();
    for (const { key: id, value: notice } of await kept.list("notice")) {
      const { realm: projectId, event, at } = notice;
      const data = await describe(notice, jobs);
      if (data === undefined) continue;
      const queue = (db: Db) => queueEvents({ db, projectId }, [{ id, event, data }], at);
      await store.write(queue, { isPatient: true });
      await kept.remove("notice", [id]);
    }
  };
}

/** Returns undefined while the rows of a cancelled job are still being written. */
async function describe({ event, subject, data }: Notice, jobs: Jobs) {
  if (event === "approval.waiting") return { approval: data };
  const job = await jobs.find(subject);
  if (job === undefined) return { job: data };
  if (job.isHeld) return undefined;
  const { id, plan_id, operation, state, counts } = job;
  return { job: { id, plan_id, operation, state, counts } };
}
