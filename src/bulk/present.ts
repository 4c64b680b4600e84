import type { JsonObject } from "../contract/json.ts";
import type { Job } from "../state/jobs.ts";
import type { Receipt } from "../state/job-runs.ts";
import type { Plan, PlanRow } from "../state/plans.ts";
import { estimateSeconds, writeWhat } from "./apply/job-runner.ts";
import type { Bulk } from "./bulk.ts";
import { quote } from "../text/show-hidden.ts";

/** Converts plans, jobs and receipts to plain records, for assistants and the CLI. */

const sampled = ["create", "update", "delete", "conflict", "invalid"] as const;
const samplesEach = 3;
const mostSampledCharacters = 200;
const mostProblems = 50;
/** To approve a plan that overwrites or deletes more links than this, a user must type a number. */
const mostUntyped = 50;

export async function presentPlan(plan: Plan, bulk: Bulk) {
  const { id, operation, undoes, counts, problems, expires_at } = plan;
  const sample = await Promise.all(
    sampled.map((action) => bulk.listRows(plan, { actions: [action], limit: samplesEach })),
  );
  return {
    id,
    operation,
    ...(undoes !== null && { undoes }),
    counts,
    seconds: estimateSeconds(counts),
    ...(problems.length > 0 && { problems: problems.slice(0, mostProblems) }),
    sample: sample.flat().map((row) => shortenTexts(presentRow(row), mostSampledCharacters)),
    expires_at: new Date(expires_at).toISOString(),
  };
}

export function shortenTexts(record: JsonObject, most: number): JsonObject {
  const text = JSON.stringify(record, (_, member: unknown) =>
    typeof member === "string" && member.length > most
      ? `${member.slice(0, most).toWellFormed()}…`
      : member,
  );
  return JSON.parse(text) as JsonObject;
}

export function presentRow(row: PlanRow): JsonObject {
  const { action, link_id, path, fields, message } = row;
  const { name, changes } = describeRow(row);
  return {
    ...(row.row !== null && { row: row.row }),
    action,
    ...(link_id !== null && { id: link_id }),
    ...(path !== null && { path }),
    ...(name !== undefined && { name }),
    ...(fields !== null && { changes }),
    ...(message !== null && { message }),
  };
}

/**
 * Describes a planned row for assistants, the approval page and the CLI. The old value `from` is
 * null for a new link, and undefined if it is unknown.
 */
export function describeRow({ path, link_id, fields, before }: PlanRow) {
  const { name: called, clicks } = { name: null, clicks: null, ...before };
  const name = typeof called === "string" && called !== "" ? called : undefined;
  const changes = Object.entries(fields ?? {}).flatMap(([field, to]) => {
    // For a link's app, the API returns only the ID.
    const from = before === null ? null : (before[field] ?? before[`${field}_id`]);
    return from === (to === "" ? null : to) ? [] : [[field, { from, to }] as const];
  });
  return {
    target: path ?? link_id ?? "",
    name,
    about: [
      ...(name === undefined ? [] : [`named ${quote(name)}`]),
      ...(typeof clicks === "number" ? [countClicks(clicks)] : []),
    ],
    changes: Object.fromEntries(changes),
  };
}

export function countClicks(count: number): string {
  return count === 1 ? "1 click" : `${count} clicks`;
}

/**
 * Returns the number that a user must type to approve `total` rows. Returns undefined if few links
 * are overwritten or deleted.
 */
export function findCountToType({ counts }: Plan, total: number): number | undefined {
  return Math.min(total, counts.update + counts.delete) > mostUntyped ? total : undefined;
}

export function presentJob(job: Job) {
  const { id, plan_id, operation, planned, state, message, counts } = job;
  return {
    id,
    plan_id,
    operation,
    state,
    what: writeWhat(job),
    counts,
    ...(state === "running" && { seconds_left: estimateSeconds(planned, counts.left) }),
    ...(message !== null && { message }),
    created_at: new Date(job.created_at).toISOString(),
    updated_at: new Date(job.updated_at).toISOString(),
  };
}

export function presentReceipt(receipt: Receipt): JsonObject {
  const { row, action, path, status, link_id, message } = receipt;
  return {
    ...(row !== null && { row }),
    action,
    // The request of a sent row may still be running, or its response may be lost.
    outcome: status === "sent" ? "unknown" : (status ?? "left"),
    ...(link_id !== null && { id: link_id }),
    ...(path !== null && { path }),
    ...(message !== null && { message }),
  };
}
