import { clock } from "../../app/process/embedded.ts";
import { estimateSeconds } from "../../bulk/apply/job-runner.ts";
import type { Bulk } from "../../bulk/bulk.ts";
import {
  describeRow,
  findCountToType,
  presentJob,
  presentPlan,
  presentReceipt,
} from "../../bulk/present.ts";
import type { Unit } from "../../bulk/rows/check-rows.ts";
import type { JsonObject } from "../../contract/json.ts";
import { isBlank } from "../../contract/text.ts";
import type { Receipt } from "../../state/job-runs.ts";
import type { Job } from "../../state/jobs.ts";
import { writeQuestion } from "../../mcp/approval/question-text.ts";
import { describeScope } from "../../mcp/tools/bulk/preview-plan.ts";
import { summarizePlan } from "../../mcp/tools/bulk/summarize-plan.ts";
import {
  countPlannedWrites,
  isFaulty,
  writeActions,
  type Plan,
  type PlanAction,
  type PlanProblem,
  type PlanRow,
} from "../../state/plans.ts";
import { quote } from "../../text/show-hidden.ts";
import { confirmAtTerminal, Interrupted, type TerminalInput } from "../terminal/ask-to-go-on.ts";
import { conclude, openScreen, print, printJson, say, showLine } from "../terminal/output.ts";
import { createProgress, describeSeconds, sumUp } from "../terminal/progress-bar.ts";
import type { BulkSession } from "./bulk-session.ts";

/** Shows a plan, applies it after confirmation, and reports the result. */

type ReportOptions = {
  /** Whether messages refer to the lines of a file or to the rows of a list. */
  readonly unit: Unit;
  readonly json?: boolean | undefined;
};

type ConfirmOptions = ReportOptions & {
  readonly yes?: boolean | undefined;
  /** Undefined if stdin is the imported file, because the user cannot answer there. */
  readonly input: TerminalInput | undefined;
};

/** Returns false if some rows were not applied. */
export async function confirmAndApply(
  session: BulkSession,
  plan: Plan,
  { unit, json = false, yes = false, input }: ConfirmOptions,
): Promise<boolean> {
  const { counts, problems, request } = plan;
  const { unmapped = [], warnings = [] } = request.source ?? {};
  await sayPlan(plan, session, unit);
  const presented = await presentPlan(plan, session.bulk);
  const extra = { plan: { ...presented, problems, unmapped, warnings } };
  const stop = (sentence: string, isDone = false) => {
    conclude(json, extra, sentence);
    return isDone;
  };
  if (isFaulty(plan)) return stop("Nothing was changed. Fix the problems above and try again.");
  const writes = countPlannedWrites(counts);
  if (writes === 0) return stop("There is nothing to change.", counts.conflict === 0);
  say(`Applying the plan takes about ${describeSeconds(estimateSeconds(counts))}.`);
  const count = findCountToType(plan, writes);
  const isApproved = yes || (await confirmAtTerminal(input, session.signal, count));
  if (!isApproved) return stop("Nothing was changed.");
  const job = await followJob(session, plan);
  const isComplete = await reportJob(session, job, { unit, json }, extra);
  if (counts.conflict === 0) return isComplete;
  const rows = counts.conflict === 1 ? "1 row was" : `${counts.conflict} rows were`;
  say(`${rows} left out; the plan above has the reasons.`);
  return false;
}

const countWords: readonly (readonly [action: PlanAction, words: string])[] = [
  ["create", "to create"],
  ["update", "to overwrite"],
  ["delete", "to delete"],
  ["unchanged", "unchanged"],
  ["conflict", "left out"],
  ["invalid", "invalid"],
];

async function sayPlan(plan: Plan, { bulk, owner, signal }: BulkSession, unit: Unit) {
  const { counts, problems, request } = plan;
  const { format, unmapped = [], warnings = [] } = request.source ?? {};
  if (format !== undefined) say(`The file is an export of ${format}.`);
  const numbers = countWords.filter(([action]) => counts[action] > 0);
  const summary = numbers.map(([action, words]) => `${counts[action]} ${words}`).join(", ");
  const title = `Plan: ${summary || "no rows"}.`;
  const scope = isFaulty(plan) ? undefined : await summarizePlan(bulk, plan, owner, { signal });
  say(writeQuestion({ title, facts: scope ? describeScope(plan, scope) : [] }));
  for (const text of warnings) say(`warning: ${text}`);
  for (const { field, count, example } of unmapped) {
    const values = count === 1 ? "1 value" : `${count} values`;
    say(`not imported: ${quote(field)} (${values}, such as ${quote(example)})`);
  }
  for (const problem of problems) say(describeProblem(problem, unit));
  // A plan stores only the first problems of a file, so the other invalid rows are only counted.
  const more = counts.invalid - new Set(problems.map(({ row }) => row)).size;
  if (more > 0) say(`and ${more} more invalid rows`);
  // The planned writes would not help the user to fix a file with problems.
  const listed: readonly PlanAction[] = problems.length === 0 ? writeActions : [];
  for (const action of [...listed, "conflict"] as const) await sayRows(plan, action, bulk, unit);
}

/** Describes a problem on one line, even if it quotes text with line breaks. */
function describeProblem({ row, link, field, message }: PlanProblem, unit: Unit): string {
  const place = [
    row !== undefined && `${unit} ${row}`,
    link !== undefined && quote(link),
    field && showLine(field),
  ].filter(Boolean);
  return place.length === 0 ? showLine(message) : `${place.join(", ")}: ${showLine(message)}`;
}

async function sayRows(plan: Plan, action: PlanAction, bulk: Bulk, unit: Unit): Promise<void> {
  // Show more conflicts than other rows, because the user has to check each conflict.
  const limit = action === "conflict" ? 50 : 3;
  const rows = await bulk.listRows(plan, { actions: [action], limit });
  for (const row of rows) say(writeRow(row, unit));
  const more = plan.counts[action] - rows.length;
  if (more > 0) say(`${nameAction(action)}: and ${more} more`);
}

function writeRow(row: PlanRow, unit: Unit): string {
  const { action, message } = row;
  const place = row.row === null ? "" : `${unit} ${row.row} `;
  const details = [...describeChanges(row), ...(message === null ? [] : [showLine(message)])];
  const name = `${nameAction(action)}: ${place}${quote(describeRow(row).target)}`;
  return details.length === 0 ? name : `${name}  ${details.join("; ")}`;
}

function nameAction(action: PlanAction): string {
  return action === "conflict" ? "left out" : action;
}

function describeChanges(row: PlanRow): readonly string[] {
  const { fields, before, action } = row;
  if (action === "create") {
    const given = Object.entries(fields ?? {}).filter(([field]) => field !== "path");
    return given.map(([field, value]) => `${field}: ${writeValue(value)}`);
  }
  if (action === "delete") return [`clicks: ${writeValue(before?.["clicks"])}`];
  return Object.entries(describeRow(row).changes).map(([field, { from, to }]) => {
    return `${field}: ${writeValue(from)} becomes ${writeValue(to)}`;
  });
}

function writeValue(value: unknown): string {
  if (isBlank(value)) return "nothing";
  return typeof value === "string" ? quote(value) : showLine(JSON.stringify(value));
}

/** Applies a plan or resumes its job, and shows its progress until it ends or is stopped. */
export async function followJob(
  { bulk, owner, writer, signal }: BulkSession,
  plan: Plan,
  seen?: Job,
): Promise<Job> {
  const tool = plan.undoes === null ? "waypost import" : "waypost jobs undo";
  let job = await bulk.apply(plan, owner, seen, { ...writer, tool });
  const progress = createProgress(openScreen(), sumUp(job.counts), clock);
  const show = ({ counts }: Job) => progress.show(sumUp(counts));
  show(job);
  while (job.state === "running" && !signal.aborted) {
    // Longer than any job takes. The user can stop earlier with Ctrl-C.
    job = await bulk.wait(job, 24 * 60 * 60_000, show);
  }
  if (signal.aborted) {
    // Waits for the rows in progress, so that their results are known.
    await bulk.close();
    job = (await bulk.findJob(job.id, owner)) ?? job;
  }
  show(job);
  progress.end();
  return job;
}

/** Reports a job and its failed rows. Returns false if some rows were not applied. */
export async function reportJob(
  session: BulkSession,
  job: Job,
  { unit, json = false }: ReportOptions,
  extra: JsonObject = {},
): Promise<boolean> {
  const { id, state, counts } = job;
  const count = counts.rejected + counts.unknown;
  const limit = json ? count : 50;
  const failed = await session.bulk.listReceipts(job, { limit, only: "failed" });
  if (json) {
    printJson({ ...extra, job: { ...presentOwn(job), failed: failed.map(presentReceipt) } });
  } else {
    print(describeJob(job));
    for (const receipt of failed) print(describeReceipt(receipt, unit));
  }
  const more = count - failed.length;
  if (more > 0) say(`And ${more} more: waypost jobs show ${id} --failed`);
  if (session.signal.aborted && state !== "done") throw interrupt(job);
  sayNext(job);
  if (state === "done" && counts.done > 0) say(`Run waypost jobs undo ${id} to undo it.`);
  return state === "done" && count === 0;
}

export function sayNext(job: Job): void {
  const { message } = job;
  if (message !== null) {
    say(`The job stopped: ${showLine(message)} (to find the cause, run waypost doctor)`);
  }
  const next = nameNext(job);
  if (next !== undefined) say(`Run ${next} to resume it.`);
}

export function presentOwn(job: Job): JsonObject {
  const next = nameNext(job);
  return { ...presentJob(job), ...(next !== undefined && { next }) };
}

/** Returns the command that resumes the job, or undefined if it is running or has ended. */
export function nameNext({ id, state }: Job): string | undefined {
  const isStopped = state === "interrupted" || state === "cancelled";
  return isStopped ? `waypost jobs resume ${id}` : undefined;
}

export function describeJob({ id, state, counts }: Job): string {
  const { done, rejected, unknown, left } = counts;
  const { total } = sumUp(counts);
  const parts = [
    `${done} of ${total === 1 ? "1 link" : `${total} links`} done`,
    rejected > 0 && `${rejected} rejected`,
    unknown > 0 && `${unknown} unknown`,
    left > 0 && `${left} left`,
  ];
  return `Job ${id} is ${state}: ${parts.filter(Boolean).join(", ")}.`;
}

function describeReceipt(receipt: Receipt, unit: Unit): string {
  const { row, action, path, status, link_id, message } = receipt;
  const place = row === null ? "" : `${unit} ${row} `;
  const name = `${status}: ${place}${action} ${quote(path ?? link_id ?? "")}`;
  return message === null ? name : `${name}: ${showLine(message)}`;
}

function interrupt({ id, state, counts }: Job): Interrupted {
  if (state === "running") {
    const advice = `run waypost jobs cancel ${id} to cancel it`;
    return new Interrupted(`another process is still running the job; ${advice}`);
  }
  const { ended, total } = sumUp(counts);
  const advice = `run waypost jobs resume ${id} to resume it`;
  return new Interrupted(`stopped after ${ended} of ${total} links; ${advice}`);
}
