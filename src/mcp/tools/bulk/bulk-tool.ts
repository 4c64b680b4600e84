import { PlanExpired } from "../../../bulk/bulk-errors.ts";
import { findRegistration } from "../../../contract/apps.ts";
import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { Job } from "../../../state/jobs.ts";
import { requireAct, type Access, type AccessState } from "../../access/key-access.ts";
import { advise } from "../../results/advice-by-code.ts";
import { ToolFailure } from "../../results/tool-failure.ts";
import { readAny, type ToolCall } from "../tool.ts";
import type { PlanSummary } from "./summarize-plan.ts";

/** Permissions and errors that the bulk tools share. */

const { links } = contract;

/** Planning needs the permission to read links and at least one permission to write them. */
export function readWriting(access: Access): AccessState {
  const reading = access.read(links.index);
  const right = readAny([links.create, links.update, links.destroy])(access);
  return reading.state === "denied" || right.state === "granted" ? reading : right;
}

/** Converts errors of plans to tool failures. Returns other errors unchanged. */
export function explainBulkError(tool: string, error: unknown): unknown {
  if (!(error instanceof PlanExpired)) return error;
  const code = "plan_changed";
  const next = advise(code, { tool });
  return new ToolFailure({ code, message: error.message, effect: "none", retry: "never", next });
}

/** Throws if the plan contains an action that the operator has excluded. */
export function requireActs(summary: PlanActs, { keyContext }: Pick<ToolCall, "keyContext">): void {
  for (const endpoint of listActs(summary)) requireAct(endpoint, keyContext);
}

export type PlanActs = Pick<PlanSummary, "create" | "update" | "delete" | "registrations">;

export function listActs({ registrations, ...counts }: PlanActs): readonly Endpoint[] {
  return [
    ...(counts.create > 0 ? [links.upsert] : []),
    ...(counts.update > 0 ? [links.update] : []),
    ...(counts.delete > 0 ? [links.destroy] : []),
    ...registrations.map(({ kind }) => findRegistration(kind)),
  ];
}

export async function requireJob(args: JsonObject, call: ToolCall): Promise<Job> {
  const job = await call.keyContext.bulk.findJob(String(args["job_id"]), call.keyContext);
  if (job !== undefined) return job;
  throw refuseMissing("This key has no job with this id.", "Find the id in the list of jobs.");
}

export function refuseMissing(message: string, next: string): ToolFailure {
  return new ToolFailure({ code: "not_found", message, effect: "none", retry: "never", next });
}
