import type { Random } from "../../contract/clock.ts";
import type { FilterInput } from "../../contract/filters.ts";
import type { LinkFields } from "../../contract/links.ts";
import type { Job } from "../../state/jobs.ts";
import type { Plan, PlanOperation, PlanProblem, PlanRow } from "../../state/plans.ts";
import type { State } from "../../state/state.ts";
import type { Owner } from "../owner.ts";
import { readRows, type Findings, type RowSource } from "../rows/read-rows.ts";
import { planFilters, planRows, type Planning } from "./plan-rows.ts";
import { planUndo } from "./plan-undo.ts";

/** From what somebody wants to a plan that is kept. */

export type PlanWanted =
  | { readonly operation: PlanOperation; readonly source: RowSource }
  | { readonly undo: Job }
  | {
      readonly operation: "update" | "delete";
      readonly filters: readonly FilterInput[];
      readonly changes: LinkFields;
    };

export type MadePlan = {
  readonly plan: Plan;
  /** What a file brought that is none of our fields. */
  readonly unmapped: Findings["unmapped"];
  /** Whose export it is; undefined for columns and members of ours. */
  readonly format: Findings["format"];
};

type Planner = {
  readonly state: Pick<State, "plans" | "jobs">;
  readonly random: Random;
  readonly signal: AbortSignal;
};

const pathBytes = 6;
const mostProblems = 1000;

export async function makePlan(
  { state, random, signal }: Planner,
  wanted: PlanWanted,
  { key_print, origin, call }: Owner,
): Promise<MadePlan> {
  const { plans, jobs } = state;
  const undoes = "undo" in wanted ? wanted.undo.id : null;
  // To put back is to make, to change and to delete.
  const operation = "undo" in wanted ? "upsert" : wanted.operation;
  const createPath = () => Buffer.from(random.bytes(pathBytes)).toString("hex");
  const planning = { call, signal, operation, createPath };
  const { rows, listFindings } =
    "undo" in wanted
      ? withoutFindings(planUndo({ ...planning, jobs }, wanted.undo))
      : planWanted(planning, wanted);
  // What is wrong with the whole source is only known when its last row was read.
  const problems: PlanProblem[] = [];
  const noted = noteFaults(rows, problems, () => listFindings().problems);
  const plan = await plans.save({ key_print, origin, operation, undoes, problems }, noted);
  const { unmapped, format } = listFindings();
  return { plan, unmapped, format };
}

type Planned = {
  readonly rows: AsyncIterable<PlanRow>;
  readonly listFindings: () => Pick<Findings, "problems" | "unmapped" | "format">;
};

function planWanted(
  planning: Planning,
  wanted: Exclude<PlanWanted, { readonly undo: Job }>,
): Planned {
  if ("filters" in wanted) {
    return withoutFindings(planFilters(planning, wanted.filters, wanted.changes));
  }
  const reading = readRows(wanted.source, wanted.operation);
  return { rows: planRows(planning, reading.rows), listFindings: reading.listFindings };
}

function withoutFindings(rows: AsyncIterable<PlanRow>): Planned {
  return { rows, listFindings: () => ({ problems: [], unmapped: [], format: undefined }) };
}

/** Those that reading has found, and those that only a look at the links could find. */
async function* noteFaults(
  rows: AsyncIterable<PlanRow>,
  problems: PlanProblem[],
  listFound: () => readonly PlanProblem[],
): AsyncGenerator<PlanRow> {
  const later: PlanProblem[] = [];
  for await (const row of rows) {
    const isFaulty = row.action === "invalid" && row.row !== null && later.length < mostProblems;
    if (isFaulty) later.push({ row: row.row, message: row.message ?? "" });
    yield row;
  }
  const found = listFound();
  const known = new Set(found.map((problem) => problem.row));
  problems.push(...found, ...later.filter((problem) => !known.has(problem.row)));
}
