import type { Run } from "../../state/job-runs.ts";
import type { Jobs } from "../../state/jobs.ts";

export type Keeping = {
  readonly jobs: Pick<Jobs, "renew">;
  readonly run: Run;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
};

/** Much less than a lease lasts. */
const renewEvery_ms = 3000;

/**
 * Renews the lease of a job that this process has, until the function is called that it answers:
 * what takes long meanwhile, whatever it is, must not look like a dead process.
 */
export function keepLease(keeping: Keeping): () => Promise<void> {
  const ended = new AbortController();
  const renewing = renewUntil(ended.signal, keeping);
  return () => {
    ended.abort();
    return renewing;
  };
}

async function renewUntil(ended: AbortSignal, { jobs, run, sleep }: Keeping): Promise<void> {
  while (!ended.aborted) {
    await sleep(renewEvery_ms, ended).catch(() => undefined);
    if (!ended.aborted) await jobs.renew(run).catch(() => false);
  }
}
