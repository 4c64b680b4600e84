import type { Bulk } from "../../bulk/bulk.ts";
import type { PlanResult } from "../../bulk/plan/make-plan.ts";
import { describeRow } from "../../bulk/plan/describe-row.ts";
import type { Unit } from "../../bulk/rows/check-rows.ts";
import { isBlank } from "../../contract/text.ts";
import type { Plan, PlanAction, PlanProblem, PlanRow } from "../../state/plans.ts";
import { quote, showHidden } from "../../text/show-hidden.ts";

const samplesEach = 3;
/** The user has to check each of these rows. */
const mostLeftOut = 50;
const kinds: readonly (readonly [action: PlanAction, words: string])[] = [
  ["create", "to create"],
  ["update", "to overwrite"],
  ["delete", "to delete"],
  ["unchanged", "unchanged"],
  ["conflict", "left out"],
  ["invalid", "invalid"],
];

/** Describes a plan for the user who has to approve it. */
export async function describePlan(
  { plan, unmapped, warnings, format }: PlanResult,
  bulk: Bulk,
  unit: Unit,
): Promise<readonly string[]> {
  const { counts, problems } = plan;
  const numbers = kinds.filter(([action]) => counts[action] > 0);
  const summary = numbers.map(([action, words]) => `${counts[action]} ${words}`).join(", ");
  const left = unmapped.map(({ field, count, example }) => {
    const values = count === 1 ? "1 value" : `${count} values`;
    return `not imported: ${quote(field)} (${values}, such as ${quote(example)})`;
  });
  // The planned writes of a faulty plan do not help to fix it, but its left-out rows do.
  const shown = kinds.filter(([action]) => problems.length === 0 || action === "conflict");
  const rows = await listRows(plan, bulk, unit, shown);
  // Counts the invalid rows that are not listed. A plan keeps only the first problems of a file.
  const more = counts.invalid - new Set(problems.map(({ row }) => row)).size;
  return [
    ...(format === undefined ? [] : [`The file is an export of ${format}.`]),
    `Plan: ${summary || "no rows"}.`,
    ...warnings.map((text) => `warning: ${text}`),
    ...left,
    ...problems.map((problem) => describeProblem(problem, unit)),
    ...(more > 0 ? [`and ${more} more invalid rows`] : []),
    ...rows,
  ];
}

/** Describes a problem on one line, even if a text in it has line breaks. */
function describeProblem({ row, link, field, message }: PlanProblem, unit: Unit): string {
  const place = [
    row !== undefined && `${unit} ${row}`,
    link !== undefined && quote(link),
    field && showLine(field),
  ].filter(Boolean);
  return place.length === 0 ? showLine(message) : `${place.join(", ")}: ${showLine(message)}`;
}

export function showLine(text: string): string {
  return showHidden(text).replace(/\s+/g, " ");
}

async function listRows(
  plan: Plan,
  bulk: Bulk,
  unit: Unit,
  shown: typeof kinds,
): Promise<readonly string[]> {
  const lists = shown
    .filter(([action]) => action !== "unchanged" && plan.counts[action] > 0)
    .map(async ([action]) => {
      const limit = action === "conflict" ? mostLeftOut : samplesEach;
      const rows = await bulk.listRows(plan, { actions: [action], limit });
      const more = plan.counts[action] - rows.length;
      const lines = rows.map((row) => writeRow(row, unit));
      return more > 0 ? [...lines, `${nameAction(action)}: and ${more} more`] : lines;
    });
  return (await Promise.all(lists)).flat();
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
