import { presentJob, presentReceipt } from "../bulk/present.ts";
import { clock } from "../app/process/embedded.ts";
import { UsageFault } from "../config.ts";
import type { Job } from "../state/jobs.ts";
import type { Receipt } from "../state/job-runs.ts";
import { quote } from "../text/show-hidden.ts";
import {
  confirmAndApply,
  describeJob,
  followJob,
  nameNext,
  presentOwn,
  reportJob,
  sayNext,
} from "./bulk/apply-plan.ts";
import { refuseReadOnly, withBulk, type BulkSession } from "./bulk/bulk-session.ts";
import { readPage, type Command, type Invocation } from "./terminal/command.ts";
import { print, printJson, printTable, say, sayPage, showLine } from "./terminal/output.ts";
import { describeSeconds, sumUp } from "./terminal/progress-bar.ts";

/** `waypost jobs` shows, resumes, cancels and undoes changes to many links. */

const jobFlags = {
  "--page N": "list, show: the page to print",
  "--failed": "show: only rows that were rejected or whose outcome is unknown",
  "--yes": "undo: skip the confirmation",
  "--json": "print `{jobs, meta}`, `{job, meta}`, `{job}` or `{plan, job}`",
};

export const jobs: Command<typeof jobFlags> = {
  usages: {
    "jobs [list]": ["list finished and interrupted jobs", list],
    "jobs show ID": ["show a job and its rows", show],
    "jobs resume ID": ["resume a job", resume],
    "jobs cancel ID": ["cancel a job", cancel],
    "jobs undo ID": ["undo what a job did", undo],
  },
  flags: jobFlags,
};

type JobInvocation = Invocation<typeof jobFlags>;

async function list(invocation: JobInvocation): Promise<void> {
  const { json, page: given } = invocation.flags;
  const page = readPage(given);
  const { jobs: listed, meta } = await withBulk(invocation, ({ bulk, owner }) =>
    bulk.listJobs(owner, page),
  );
  if (json === true) return printJson({ jobs: listed.map(presentOwn), meta });
  if (meta.count === 0) return say("This key has no jobs. waypost import starts one.");
  const heads = ["ID", "STATE", "DONE", "REJECTED", "UNKNOWN", "LEFT", "AGE", "WHAT", "NEXT"];
  printTable(heads, listed.map(writeJob));
  sayPage(meta, "jobs");
}

function withJob<Result>(
  invocation: JobInvocation,
  id: string,
  work: (session: BulkSession, job: Job) => Promise<Result>,
): Promise<Result> {
  return withBulk(invocation, async (session) => {
    const job = await session.bulk.findJob(id, session.owner);
    if (job !== undefined) return work(session, job);
    throw new UsageFault(`this key has no job ${quote(id)}; waypost jobs lists its jobs`);
  });
}

function writeJob(job: Job): readonly string[] {
  const { id, state, counts, created_at } = job;
  const { done, rejected, unknown, left } = counts;
  const numbers = [done, rejected, unknown, left].map(String);
  const age = describeSeconds(Math.max(0, (clock.now() - created_at) / 1000));
  const what = showLine(presentJob(job).what);
  return [id, state, ...numbers, age, what, nameNext(job) ?? ""];
}

function show(invocation: JobInvocation, id: string): Promise<void> {
  const { failed: isFailed = false, json, page: given } = invocation.flags;
  const page = readPage(given);
  return withJob(invocation, id, async ({ bulk }, job) => {
    const { counts } = job;
    const limit = 100;
    const part = { offset: (page - 1) * limit, limit };
    const receipts = await bulk.listReceipts(job, isFailed ? { ...part, only: "failed" } : part);
    const count = isFailed ? counts.rejected + counts.unknown : sumUp(counts).total;
    const meta = { page, limit, count, last: Math.max(1, Math.ceil(count / limit)) };
    if (json === true) {
      const shown = { ...presentOwn(job), receipts: receipts.map(presentReceipt) };
      return printJson({ job: shown, meta });
    }
    print(`${describeJob(job)} It ${showLine(presentJob(job).what)}.`);
    printTable(["ROW", "ACTION", "PATH", "OUTCOME", "WHY"], receipts.map(writeReceipt));
    sayPage(meta, "rows");
    sayNext(job);
  });
}

function writeReceipt(receipt: Receipt): readonly string[] {
  const { row, action, path, status, link_id, message } = receipt;
  const place = row === null ? "" : String(row);
  return [place, action, quote(path ?? link_id ?? ""), status ?? "left", showLine(message ?? "")];
}

/** Resuming needs no approval, because the plan was already approved. */
function resume(invocation: JobInvocation, id: string): Promise<boolean> {
  refuseReadOnly(invocation.config, "jobs resume");
  const reporting = { ...invocation.flags, unit: "row" } as const;
  return withJob(invocation, id, async (session, job) => {
    if (job.state === "done") return reportJob(session, job, reporting);
    const plan = await session.bulk.findPlan(job.plan_id, session.owner);
    if (plan === undefined) {
      throw new UsageFault("the job's plan has expired; import the file again");
    }
    if (job.state === "running") {
      say("Another process is running this job; waiting until it ends.");
    }
    return reportJob(session, await followJob(session, plan, job), reporting);
  });
}

/** Cancelling is allowed even in read-only mode. */
function cancel(invocation: JobInvocation, id: string): Promise<void> {
  return withJob(invocation, id, async ({ bulk }, job) => {
    const cancelled = await bulk.cancel(job);
    if (invocation.flags.json === true) return printJson({ job: presentOwn(cancelled) });
    print(describeJob(cancelled));
    if (cancelled.state === "done") {
      say(`The job was already done. Run waypost jobs undo ${id} to undo it.`);
    }
  });
}

function undo(invocation: JobInvocation, id: string): Promise<boolean> {
  const { config, flags, runtime } = invocation;
  refuseReadOnly(config, "jobs undo");
  return withJob(invocation, id, async (session, job) => {
    if (job.isHeld) {
      throw new UsageFault(`the job is still running; run waypost jobs cancel ${id} first`);
    }
    const plan = await session.bulk.plan({ undo: job }, session.owner, session.signal);
    return confirmAndApply(session, plan, { ...flags, unit: "row", input: runtime.input });
  });
}
