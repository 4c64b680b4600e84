import { clock } from "../../app/process/embedded.ts";
import type { Job } from "../../state/jobs.ts";
import type { Plan } from "../../state/plans.ts";
import { createProgress, type Screen } from "../terminal/progress-bar.ts";
import type { BulkSession } from "./bulk-session.ts";

/** Longer than any job takes. The user can stop earlier with Ctrl-C. */
const mostWait_ms = 24 * 60 * 60_000;

/** Applies a plan or resumes its job, and shows the progress until it ends or is stopped. */
export async function followJob(
  { bulk, owner, writer, signal }: BulkSession,
  plan: Plan,
  screen: Screen,
  /** The job's state when the user chose to resume it. */
  seen?: Job,
): Promise<Job> {
  const tool = plan.undoes === null ? "waypost import" : "waypost jobs undo";
  let job = await bulk.apply(plan, owner, seen, { ...writer, tool });
  const progress = createProgress(screen, job.counts, clock);
  progress.show(job.counts);
  while (job.state === "running" && !signal.aborted) {
    job = await bulk.wait(job, mostWait_ms, ({ counts }) => progress.show(counts));
  }
  if (signal.aborted) {
    // The results of the last rows are known only now.
    await bulk.close();
    job = (await bulk.findJob(job.id, owner)) ?? job;
  }
  progress.show(job.counts);
  progress.end();
  return job;
}
