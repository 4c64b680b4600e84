import type { JobPage } from "../bulk/bulk.ts";
import { presentJob, presentReceipt } from "../bulk/present.ts";
import { clock } from "../app/process/embedded.ts";
import { UsageFault } from "../config.ts";
import type { Job } from "../state/jobs.ts";
import type { Receipt } from "../state/job-runs.ts";
import { quote } from "../text/show-hidden.ts";
import { confirmAndApply } from "./bulk/confirm-and-apply.ts";
import { showLine } from "./bulk/describe-plan.ts";
import { followJob } from "./bulk/follow-job.ts";
import { describeJob, isResumable, presentOwn, reportJob } from "./bulk/report-job.ts";
import {
  refuseReadOnly,
  withKnownBulk,
  type BulkSession,
  type BulkSessionOptions,
} from "./bulk/bulk-session.ts";
import { describeSeconds } from "./terminal/describe-time.ts";
import type { FlagsOf } from "./terminal/command-list.ts";
import type { FlagValues } from "./terminal/flags.ts";
import { formatTable, openScreen, print, printJson, say } from "./terminal/output.ts";
import { sumUp } from "./terminal/progress-bar.ts";

type JobFlags = FlagValues<FlagsOf<"jobs">>;

type Input = { readonly input: NodeJS.ReadStream };

/** What was asked for, once its flags are read. */
type JobOptions = Input & {
  readonly page: number;
  readonly isFailed: boolean;
  readonly isSure: boolean;
  readonly isJson: boolean;
};

const rowsPerPage = 100;

type RunOnJob = (session: BulkSession, job: Job, options: JobOptions) => Promise<boolean | void>;

const subcommands: Readonly<Record<string, RunOnJob>> = {
  show: showJob,
  resume: resumeJob,
  cancel: cancelJob,
  undo: undoJob,
};
/** The actions that read-only mode refuses; a job can be cancelled in every mode. */
const changing: ReadonlySet<string> = new Set(["resume", "undo"]);

/** `waypost jobs list|show|resume|cancel|undo`. False where a job is not done as a whole. */
export async function runJobs(
  options: BulkSessionOptions & Input,
  [name = "list", id, ...rest]: readonly string[],
  flags: JobFlags,
): Promise<boolean | void> {
  const jobOptions = readJobOptions(options, flags);
  if (name === "list" && id === undefined) {
    return withKnownBulk(options, (session) => listJobs(session, jobOptions));
  }
  const runOnJob = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
  if (runOnJob === undefined || id === undefined || rest.length > 0) {
    const known = Object.keys(subcommands).map((each) => `jobs ${each} ID`);
    throw new UsageFault(`use jobs list, ${known.join(", ")} (see waypost --help)`);
  }
  if (changing.has(name)) refuseReadOnly(options.config, `jobs ${name}`);
  return withKnownBulk(options, async (session) => {
    const job = await session.bulk.findJob(id, session.owner);
    if (job !== undefined) return runOnJob(session, job, jobOptions);
    throw new UsageFault(`this key has no job ${quote(id)}; waypost jobs lists its jobs`);
  });
}

function readJobOptions({ input }: Input, flags: JobFlags): JobOptions {
  const { page = "1", failed = false, yes = false, json = false } = flags;
  if (!/^[1-9]\d{0,8}$/.test(page)) {
    throw new UsageFault("--page must be a whole number, 1 or more");
  }
  return { input, page: Number(page), isFailed: failed, isSure: yes, isJson: json };
}

async function listJobs({ bulk, owner }: BulkSession, { page, isJson }: JobOptions): Promise<void> {
  const { jobs, meta } = await bulk.listJobs(owner, page);
  if (isJson) {
    return printJson({ jobs: jobs.map(presentOwn), meta });
  }
  if (meta.count === 0) return say("This key has no jobs. waypost import starts one.");
  const heads = ["ID", "STATE", "DONE", "REJECTED", "UNKNOWN", "LEFT", "AGE", "WHAT", "NEXT"];
  print(formatTable([heads, ...jobs.map(writeJob)]));
  sayPage(meta, "jobs");
}

function writeJob(job: Job): readonly string[] {
  const { id, state, counts, created_at } = job;
  const { done, rejected, unknown, left } = counts;
  const numbers = [done, rejected, unknown, left].map(String);
  const age = describeSeconds(Math.max(0, (clock.now() - created_at) / 1000));
  return [
    id,
    state,
    ...numbers,
    age,
    showLine(presentJob(job).what),
    isResumable(job) ? `waypost jobs resume ${id}` : "",
  ];
}

async function showJob(
  { bulk }: BulkSession,
  job: Job,
  { page, isFailed, isJson }: JobOptions,
): Promise<void> {
  const { counts, message } = job;
  const limit = rowsPerPage;
  const wanted = { offset: (page - 1) * limit, limit };
  const receipts = await bulk.listReceipts(job, isFailed ? { ...wanted, only: "failed" } : wanted);
  const count = isFailed ? counts.rejected + counts.unknown : sumUp(counts).total;
  const meta = { page, limit, count, last: Math.max(1, Math.ceil(count / limit)) };
  if (isJson) {
    return printJson({
      job: { ...presentOwn(job), receipts: receipts.map(presentReceipt) },
      meta,
    });
  }
  print(`${describeJob(job)} It ${showLine(presentJob(job).what)}.`);
  print(formatTable([["ROW", "ACTION", "PATH", "OUTCOME", "WHY"], ...receipts.map(writeReceipt)]));
  sayPage(meta, "rows");
  if (message !== null) {
    say(`The job stopped: ${showLine(message)} (to find the cause, run waypost doctor)`);
  }
  if (isResumable(job)) say(`Run waypost jobs resume ${job.id} to resume it.`);
}

function writeReceipt({ planned, status, link_id, message }: Receipt): readonly string[] {
  const { row, action, path } = planned;
  const place = row === null ? "" : String(row);
  return [place, action, quote(path ?? link_id ?? ""), status ?? "left", showLine(message ?? "")];
}

function sayPage({ page, count, last }: JobPage["meta"], what: string): void {
  if (last <= 1) return;
  say(`Page ${page} of ${last}, ${count} ${what} in total. Use --page N to see another page.`);
}

/** A plan that was confirmed once needs no second yes. */
async function resumeJob(session: BulkSession, job: Job, { isJson }: JobOptions): Promise<boolean> {
  const reporting = { unit: "row", isJson } as const;
  if (job.state === "done") return reportJob(session, job, reporting);
  const plan = await session.bulk.findPlan(job.plan_id, session.owner);
  if (plan === undefined) throw new UsageFault("the job's plan has expired; import the file again");
  if (job.state === "running") say("Another process is running this job; waiting until it ends.");
  return reportJob(session, await followJob(session, plan, openScreen(), job), reporting);
}

async function cancelJob({ bulk }: BulkSession, job: Job, { isJson }: JobOptions): Promise<void> {
  const cancelled = await bulk.cancel(job);
  if (isJson) return printJson({ job: presentOwn(cancelled) });
  print(describeJob(cancelled));
  if (cancelled.state === "done") {
    say(`The job was already done. Run waypost jobs undo ${job.id} to undo it.`);
  }
}

async function undoJob(
  session: BulkSession,
  job: Job,
  { input, isSure, isJson }: JobOptions,
): Promise<boolean> {
  if (job.isHeld) {
    throw new UsageFault(`the job is still running; run waypost jobs cancel ${job.id} first`);
  }
  const made = await session.bulk.plan({ undo: job }, session.owner, session.signal);
  const person = input.isTTY ? input : undefined;
  return confirmAndApply(session, made, { unit: "row", isJson, isSure, input: person });
}
