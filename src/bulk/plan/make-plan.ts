import { failCancelledUnsent } from "../../client/outcome.ts";
import type { Random } from "../../contract/clock.ts";
import { toSentence, unauthorized } from "../../contract/problem.ts";
import type { Job } from "../../state/jobs.ts";
import type { Plan, PlanOperation, PlanProblem, PlanRequest, PlanRow } from "../../state/plans.ts";
import type { State } from "../../state/state.ts";
import { quoteLine } from "../../text/show-hidden.ts";
import type { Owner } from "../owner.ts";
import { readRows, type Findings, type RowSource } from "../rows/read-rows.ts";
import { createPricingCheck } from "./check-pricing.ts";
import { createProjectApps } from "../../lists/project-apps.ts";
import {
  planFilters,
  planRows,
  refuseChanges,
  type FilterPlanInput,
  type PlanContext,
  type PlannedRow,
} from "./plan-rows.ts";
import { planUndo } from "./plan-undo.ts";

/** Makes and saves a plan: from rows, from filters, or to undo a job. */

export type PlanInput = (
  | {
      readonly operation: PlanOperation;
      readonly source: RowSource;
      readonly file?: string;
      /**
       * The hosts of the project's links. If set, rows may identify links and apps by name or URL.
       */
      readonly linkHosts?: readonly string[];
    }
  | { readonly undo: Job }
  | FilterPlanInput
) & {
  /** True to skip invalid rows. Otherwise, one invalid row blocks the whole plan. */
  readonly skipsInvalid?: boolean;
};

type PlanDependencies = {
  readonly state: Pick<State, "plans" | "jobs">;
  readonly random: Random;
  readonly signal: AbortSignal;
};

/** Limits the memory that the problems of a broken file can use. */
const mostProblems = 1000;
/** The saved request lists only the first rules. The rows show the effects of all rules. */
const mostRules = 100;

export async function makePlan(
  { state, random, signal }: PlanDependencies,
  wanted: PlanInput,
  owner: Owner,
): Promise<Plan> {
  const { key_print, origin, call } = owner;
  // An undo may create, change or delete links.
  const operation = "undo" in wanted ? "upsert" : wanted.operation;
  const planning: PlanContext = {
    ...owner,
    signal,
    random,
    operation,
    apps: createProjectApps({ call, signal }),
    takesNames: !("source" in wanted) || wanted.linkHosts !== undefined,
    jobs: state.jobs,
  };
  const { rows, request, listFindings } = openRows(planning, wanted);
  const checkLimits = createLimitCheck(wanted, planning);
  const problems: PlanProblem[] = [];
  const undoes = "undo" in wanted ? wanted.undo.id : null;
  const made = { key_print, origin, operation, undoes, problems, request };
  return state.plans.save(made, numberRows());

  /** `problems` and `request` are complete only after the last row. */
  async function* numberRows(): AsyncGenerator<PlanRow> {
    let position = 0;
    for await (const unchecked of rows) {
      // If this throws, the plan stays a draft, and is deleted later.
      if (signal.aborted) throw failCancelledUnsent();
      const checked = await checkLimits(unchecked);
      const { row, action, link_id, path, fields, before, message } = checked;
      if (action === "invalid") {
        const faults = listFaults(checked).slice(0, mostProblems - problems.length);
        const skipped = wanted.skipsInvalid === true && ({ skipped: true } as const);
        problems.push(...faults.map((fault) => ({ ...fault, ...skipped })));
      }
      yield { position, row, action, link_id, path, fields, before, message };
      position += 1;
    }
    if (signal.aborted) throw failCancelledUnsent();
    if (listFindings === undefined) return;
    // A problem with the whole source always blocks the plan, because skipping rows cannot solve
    // it.
    const { problems: found, ...source } = listFindings();
    problems.push(...found);
    problems.sort((one, other) => (one.row ?? 0) - (other.row ?? 0));
    if (source.format !== undefined || source.unmapped.length > 0) request.source = source;
  }
}

function listFaults({ problems, row, path, link_id, message }: PlannedRow): readonly PlanProblem[] {
  if (problems.length > 0) return problems;
  const place = row === null ? { link: path ?? link_id ?? "" } : { row };
  return [{ ...place, message: message ?? "" }];
}

type WantedRows = {
  readonly rows: AsyncIterable<PlannedRow>;
  /** Writable, because the source is added after the last row has been read. */
  readonly request: { -readonly [Name in keyof PlanRequest]: PlanRequest[Name] };
  readonly listFindings?: () => Findings;
};

function openRows(planning: PlanContext, wanted: PlanInput): WantedRows {
  if ("undo" in wanted) {
    const { done, left } = wanted.undo.counts;
    return { rows: planUndo(planning, wanted.undo), request: { undone: { done, left } } };
  }
  const skips = wanted.skipsInvalid === true && ({ skips_invalid: true } as const);
  if ("filters" in wanted) {
    const about = wanted.operation === "update" && describeChanges(wanted);
    return { rows: planFilters(planning, wanted), request: { ...about, ...skips } };
  }
  const { source, operation, linkHosts, file } = wanted;
  const about = file !== undefined && { about: `from ${quoteLine(file).slice(1, -1)}` };
  const { takesAnyId } = planning;
  const { rows, listFindings } = readRows(source, operation, { takesAnyId, linkHosts });
  return { rows: planRows(planning, rows), request: { ...about, ...skips }, listFindings };
}

function describeChanges({ changes, rules: all = [] }: FilterPlanInput) {
  const rules = all.slice(0, mostRules);
  const fields = [...Object.keys(changes), ...rules.map(({ field }) => field)];
  const [rule] = rules;
  const isMove = fields.length === 1 && rule?.kind === "host";
  const target = isMove ? ` to ${quoteLine(rule.to).slice(1, -1)}` : "";
  const about = `${toSentence([...new Set(fields)])}${target}`;
  return { about, ...(rules.length > 0 && { rules }) };
}

type LimitCheck = (row: PlannedRow) => Promise<PlannedRow>;

/**
 * Rejects rows with a forbidden destination, and rows that the pricing plan does not allow. If all
 * links would get the same forbidden value, the whole plan is rejected. If the plan is an undo,
 * such rows are skipped, and the others are planned.
 */
function createLimitCheck(wanted: PlanInput, planning: PlanContext): LimitCheck {
  const { checkDestinations = () => [] } = planning;
  const checkPricing = createPricingCheck(planning);
  return async (row) => {
    const { action, before } = row;
    const isWrite = action === "create" || action === "update";
    const problems = isWrite ? checkDestinations(row.fields ?? {}, before ?? {}) : [];
    // Values computed by rules may differ for each link, so they never reject the whole plan.
    const shared = problems.filter(({ field }) => "filters" in wanted && field in wanted.changes);
    if (shared.length > 0) throw refuseChanges(shared);
    if (problems.length > 0) {
      const message = problems.map((problem) => problem.message).join("; ");
      return { ...row, action: "undo" in wanted ? "conflict" : "invalid", fields: null, message };
    }
    const fault = await checkPricing(row);
    if (fault === undefined) return row;
    if ("filters" in wanted) throw unauthorized(fault.message);
    const refused = fault.isOfRow && "source" in wanted ? "invalid" : "conflict";
    return { ...row, action: refused, fields: null, before: null, message: fault.message };
  };
}
