import { CallFailure } from "../../client/call-failure.ts";
import type { Clock } from "../../contract/clock.ts";
import { goOnFor_ms } from "../../state/job-leases.ts";
import type { Job } from "../../state/jobs.ts";
import { readOutage } from "../../state/state.ts";

/** Jobs that an outage has interrupted in this process, and that go on by themselves after it. */

export type Retries = Map<string, Retry>;

type Retry = {
  /** When it was first interrupted, with as many rows at their end. */
  readonly since: number;
  readonly ended: number;
  readonly times: number;
};

const firstWait_ms = 1000;
/** Less than it takes a job that waits for nobody to look as if it did. */
const longestWait_ms = 4000;

/**
 * How long the job is left alone before the next try; undefined where it waits for somebody to ask
 * for it: waiting mends nothing, or has mended nothing for minutes.
 */
export function planRetry(
  retries: Retries,
  { monotonic }: Clock,
  { id, counts }: Pick<Job, "id" | "counts">,
  error: unknown,
): number | undefined {
  if (!isPassing(error)) return undefined;
  const ended = counts.done + counts.rejected;
  const known = retries.get(id);
  const goesOn = known === undefined || known.ended !== ended;
  const { since, times } = goesOn ? { since: monotonic(), times: 0 } : known;
  if (monotonic() - since >= goOnFor_ms) return undefined;
  retries.set(id, { since, ended, times: times + 1 });
  const asked_ms = error instanceof CallFailure ? (error.facts.retry_after_s ?? 0) * 1000 : 0;
  return Math.min(longestWait_ms, Math.max(firstWait_ms * 2 ** times, asked_ms));
}

function isPassing(error: unknown): boolean {
  if (error instanceof CallFailure) return error.facts.retry === "later";
  return readOutage(error) !== undefined;
}
