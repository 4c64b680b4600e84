import * as z from "zod";
import type { Bulk } from "../../../bulk/bulk.ts";
import { presentPlan, presentRow } from "../../../bulk/present.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { countPlannedWrites, isFaulty, type Plan } from "../../../state/plans.ts";

/** A plan as an assistant reads it: the record, where its rows are, and what to do next. */

export const planSchema = z.looseObject({
  id: z.string(),
  operation: z.string(),
  counts: z.record(z.string(), z.int()),
  seconds: z.int(),
  expires_at: z.string(),
});

const rowsPerPage = 100;

/** `findings` is what else was found while the plan was made. */
export async function showPlan(plan: Plan, bulk: Bulk, findings: JsonObject): Promise<JsonObject> {
  const { expires_at, ...told } = await presentPlan(plan, bulk);
  return { ...told, uri: writePlanUri(plan.id), expires_at, ...findings, next: describeNext(plan) };
}

/** A page of its rows, with their whole texts. */
export async function showPlanPage(plan: Plan, bulk: Bulk, page: number): Promise<JsonObject> {
  const from = (page - 1) * rowsPerPage;
  const rows = await bulk.listRows(plan, { from, limit: rowsPerPage });
  const isLast = rows.length < rowsPerPage;
  return { rows: rows.map(presentRow), ...(!isLast && { next: writePlanUri(plan.id, page + 1) }) };
}

function describeNext(plan: Plan): string {
  if (isFaulty(plan)) {
    const { counts, request } = plan;
    // With it the plan would be the same, where nothing else is left or no single row is at fault.
    const isAsked = request.skips_invalid === true;
    const helps = !isAsked && counts.invalid > 0 && countPlannedWrites(counts) > 0;
    const leaveOut = helps ? ", or leave the invalid rows out with skip_invalid" : "";
    const fix = `fix its problems with the user${leaveOut}`;
    return `This plan cannot be applied: ${fix}, then plan again.`;
  }
  if (countPlannedWrites(plan.counts) === 0) return "There is nothing to apply.";
  const { conflict, invalid } = plan.counts;
  const left = [
    ...(conflict > 0 ? ["the rows in conflict"] : []),
    ...(invalid > 0 ? [invalid === 1 ? "the invalid row" : `the ${invalid} invalid rows`] : []),
  ];
  const rest = left.length === 0 ? "" : ` It leaves out ${left.join(" and ")}.`;
  return `Show it to the user, then apply it by its id.${rest}`;
}

/** Where the pages of plans and exports are read. */

export function writePlanUri(id: string, page = 1): string {
  return `waypost://plans/${id}${page === 1 ? "" : `/${page}`}`;
}

export function writeExportUri(id: string, page = 1): string {
  return `waypost://exports/${id}/${page}`;
}

/** Undefined for an address that is neither a plan's nor an export's. */
export function readBulkUri(uri: string) {
  const [, kind, id = "", page = "1"] =
    /^waypost:\/\/(plans|exports)\/([\w-]+)(?:\/(\d{1,6}))?$/.exec(uri) ?? [];
  if (kind !== "plans" && kind !== "exports") return undefined;
  return { kind, id, page: Number(page) };
}
