import * as z from "zod";
import type { Bulk } from "../../../bulk/bulk.ts";
import { presentPlan, presentRow } from "../../../bulk/present.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { countPlannedWrites, isFaulty, type Plan } from "../../../state/plans.ts";

/** Formats a plan for an assistant: its record, the URI of its rows, and the next step. */

export const planSchema = z.looseObject({
  id: z.string(),
  operation: z.string(),
  counts: z.record(z.string(), z.int()),
  seconds: z.int(),
  expires_at: z.string(),
});

const rowsPerPage = 100;

export async function showPlan(plan: Plan, bulk: Bulk): Promise<JsonObject> {
  const { expires_at, ...record } = await presentPlan(plan, bulk);
  const { format, unmapped = [], warnings = [] } = plan.request.source ?? {};
  return {
    ...record,
    uri: writePlanUri(plan.id),
    expires_at,
    ...(format !== undefined && { format }),
    ...(unmapped.length > 0 && { unmapped }),
    ...(warnings.length > 0 && { warnings }),
    next: describeNext(plan),
  };
}

export async function showPlanPage(plan: Plan, bulk: Bulk, page: number): Promise<JsonObject> {
  const from = (page - 1) * rowsPerPage;
  const rows = await bulk.listRows(plan, { from, limit: rowsPerPage });
  const isLast = rows.length < rowsPerPage;
  return { rows: rows.map(presentRow), ...(!isLast && { next: writePlanUri(plan.id, page + 1) }) };
}

function describeNext(plan: Plan): string {
  if (isFaulty(plan)) {
    const { counts, request } = plan;
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

export function writePlanUri(id: string, page = 1): string {
  return `waypost://plans/${id}${page === 1 ? "" : `/${page}`}`;
}

export function writeExportUri(id: string, page = 1): string {
  return `waypost://exports/${id}/${page}`;
}

/** Parses the URI of a plan or export. Returns undefined for any other URI. */
export function readBulkUri(uri: string) {
  const [, kind, id = "", page = "1"] =
    /^waypost:\/\/(plans|exports)\/([\w-]+)(?:\/(\d{1,6}))?$/.exec(uri) ?? [];
  if (kind !== "plans" && kind !== "exports") return undefined;
  return { kind, id, page: Number(page) };
}
