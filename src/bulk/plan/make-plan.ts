import { failCancelledUnsent } from "../../client/outcome.ts";
import type { Random } from "../../contract/clock.ts";
import { toSentence, unauthorized } from "../../contract/problem.ts";
import type { Job } from "../../state/jobs.ts";
import type { Plan, PlanOperation, PlanProblem, PlanRequest, PlanRow } from "../../state/plans.ts";
import type { State } from "../../state/state.ts";
import { quoteLine } from "../../text/show-hidden.ts";
import type { ServerAccess, Owner } from "../owner.ts";
import { readRows, type Findings, type RowSource } from "../rows/read-rows.ts";
import { createPricingCheck } from "./check-pricing.ts";
import { createProjectApps } from "../select/project-apps.ts";
import { planFilters, refuseChanges, type FilterPlanInput } from "./plan-filters.ts";
import { planRows, type PlanContext, type PlannedRow } from "./plan-rows.ts";
import { planUndo, type UndoContext } from "./plan-undo.ts";

/** Makes a plan from rows, from filters or to undo a job, and saves it. */

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
  /** Whether invalid rows are skipped. Otherwise they block the whole plan. */
  readonly skipsInvalid?: boolean;
};

export type PlanResult = Pick<Findings, "unmapped" | "warnings" | "format"> & {
  readonly plan: Plan;
};

type PlanDependencies = {
  readonly state: Pick<State, "plans" | "jobs">;
  readonly random: Random;
  readonly signal: AbortSignal;
};

const pathBytes = 6;
/** Limits the memory that the problems of a broken file may use. */
const mostProblems = 1000;
/** Further rules are not listed in the request, but their effects appear in the rows. */
const mostRules = 100;

export async function makePlan(
  { state, random, signal }: PlanDependencies,
  wanted: PlanInput,
  owner: Owner,
): Promise<PlanResult> {
  const { key_print, origin, call, linkHost, requireRight } = owner;
  const { keepsBin = false, takesAnyId = false } = owner;
  const isUndo = "undo" in wanted;
  // An undo may create, change and delete links.
  const operation = isUndo ? "upsert" : wanted.operation;
  const asking = { call, signal };
  const planning: PlanContext & UndoContext = {
    ...asking,
    linkHost,
    ownOrigin: takesAnyId ? undefined : linkHost,
    operation,
    createPath: () => Buffer.from(random.bytes(pathBytes)).toString("hex"),
    apps: createProjectApps(asking),
    requireRight,
    takesAnyId,
    takesNames: !("source" in wanted) || wanted.linkHosts !== undefined,
    jobs: state.jobs,
    keepsBin,
  };
  const { rows, listFindings } = readWanted(planning, wanted);
  const checkLimits = createLimitCheck(wanted, owner, asking);
  const problems: PlanProblem[] = [];
  const request: WritableRequest = { ...describe(wanted) };
  const saved = { key_print, origin, operation, undoes: isUndo ? wanted.undo.id : null };
  const plan = await state.plans.save({ ...saved, problems, request }, numberRows());
  const { unmapped, warnings, format } = listFindings();
  return { plan, unmapped, warnings, format };

  /** `problems` and `request` are complete after the last row. */
  async function* numberRows(): AsyncGenerator<PlanRow> {
    let position = 0;
    for await (const unchecked of rows) {
      // After an error, the plan stays a draft, which is deleted later.
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
    // Problems with the whole source always block the plan, because no row can be skipped.
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

/** Writable, because the source is known only after the last row has been read. */
type WritableRequest = { -readonly [Name in keyof PlanRequest]: PlanRequest[Name] };

function describe(wanted: PlanInput): PlanRequest {
  const skips = wanted.skipsInvalid === true && ({ skips_invalid: true } as const);
  if ("filters" in wanted && wanted.operation === "update") {
    const rules = (wanted.rules ?? []).slice(0, mostRules);
    const fields = [...Object.keys(wanted.changes), ...rules.map(({ field }) => field)];
    const [rule] = rules;
    const isMove = fields.length === 1 && rule?.kind === "host";
    const target = isMove ? ` to ${quoteLine(rule.to).slice(1, -1)}` : "";
    const about = `${toSentence([...new Set(fields)])}${target}`;
    return { about, ...(rules.length > 0 && { rules }), ...skips };
  }
  if ("undo" in wanted) {
    const { done, left } = wanted.undo.counts;
    return { undone: { done, left } };
  }
  const file = "source" in wanted ? wanted.file : undefined;
  if (file === undefined) return { ...skips };
  return { about: `from ${quoteLine(file).slice(1, -1)}`, ...skips };
}

function readWanted(planning: PlanContext & UndoContext, wanted: PlanInput) {
  if ("source" in wanted) {
    const { source, linkHosts } = wanted;
    const options = { takesAnyId: planning.takesAnyId, linkHosts };
    const { rows, listFindings } = readRows(source, wanted.operation, options);
    return { rows: planRows(planning, rows), listFindings };
  }
  const rows = "undo" in wanted ? planUndo(planning, wanted.undo) : planFilters(planning, wanted);
  const findings: Findings = { problems: [], unmapped: [], warnings: [], format: undefined };
  return { rows, listFindings: () => findings };
}

type LimitCheck = (row: PlannedRow) => Promise<PlannedRow>;

/**
 * Rejects rows with a forbidden destination, and rows that the pricing plan would reject. If a
 * change shared by all links is forbidden, the whole plan is rejected. An undo skips such rows and
 * plans the rest.
 */
function createLimitCheck(wanted: PlanInput, owner: Owner, asking: ServerAccess): LimitCheck {
  const { checkDestinations = () => [] } = owner;
  const checkPricing = createPricingCheck(owner, asking);
  return async (row) => {
    const { action, before } = row;
    const isWrite = action === "create" || action === "update";
    const problems = isWrite ? checkDestinations(row.fields ?? {}, before ?? {}) : [];
    // Rules are not shared changes, because they may give each link another host.
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
