import type { Bulk } from "../../src/bulk/bulk.ts";
import type { Job } from "../../src/state/jobs.ts";

/** Waits until the job no longer runs, and returns it. */
export async function waitForEnd(
  { wait }: Pick<Bulk, "wait">,
  begun: Job | Promise<Job>,
): Promise<Job> {
  let job = await begun;
  while (job.state === "running") job = await wait(job, 60_000);
  return job;
}
