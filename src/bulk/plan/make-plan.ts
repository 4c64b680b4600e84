import { CallFailure } from "../../client/outcome.ts";
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
import { planFilters, refuseChanges, type FilterWanted } from "./plan-filters.ts";
import { planRows, type Planning, type PlannedRow } from "./plan-rows.ts";
import { planUndo, type Undoing } from "./plan-undo.ts";

/** Makes a plan from rows, filters or a job's undo, and saves it. */

export type PlanWanted = (
  | {
      readonly operation: PlanOperation;
      readonly source: RowSource;
      /** The name of the file that the rows come from. */
      readonly file?: string;
      /**
       * Where the project's links live. Given where rows may name links and apps in every way that
       * a person does.
       */
      readonly linkHosts?: readonly string[];
    }
  | { readonly undo: Job }
  | FilterWanted
) & {
  /** Whether faulty rows are left out of the plan; otherwise none of it can be applied. */
  readonly skipsInvalid?: boolean;
};

export type MadePlan = Pick<Findings, "unmapped" | "warnings" | "format"> & { readonly plan: Plan };

type Planner = {
  readonly state: Pick<State, "plans" | "jobs">;
  readonly random: Random;
  readonly signal: AbortSignal;
};

const pathBytes = 6;
/** Limits the memory that the problems of a completely broken file take. */
const mostProblems = 1000;
/** More rules are only shown in the links that they change. */
const mostRules = 100;

export async function makePlan(
  { state, random, signal }: Planner,
  wanted: PlanWanted,
  owner: Owner,
): Promise<MadePlan> {
  const { key_print, origin, call, linkHost, requireRight } = owner;
  const { keepsBin = false, takesAnyId = false } = owner;
  const isUndo = "undo" in wanted;
  // The rows of an undo create, change and delete links.
  const operation = isUndo ? "upsert" : wanted.operation;
  const asking = { call, signal };
  const planning: Planning & Undoing = {
    ...asking,
    linkHost,
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
  const judge = createJudge(wanted, owner, asking);
  const problems: PlanProblem[] = [];
  const request: Requested = { ...describe(wanted) };
  const saved = { key_print, origin, operation, undoes: isUndo ? wanted.undo.id : null };
  const plan = await state.plans.save({ ...saved, problems, request }, numberRows());
  const { unmapped, warnings, format } = listFindings();
  return { plan, unmapped, warnings, format };

  /** The problems and the request are complete after the last row. */
  async function* numberRows(): AsyncGenerator<PlanRow> {
    let position = 0;
    for await (const unjudged of rows) {
      // What throws here leaves no plan: it stays a draft, and drafts are dropped.
      if (signal.aborted) throw failCancelled();
      const judged = await judge(unjudged);
      const { row, action, link_id, path, fields, before, message } = judged;
      if (action === "invalid") {
        const faults = listFaults(judged).slice(0, mostProblems - problems.length);
        const skipped = wanted.skipsInvalid === true && ({ skipped: true } as const);
        problems.push(...faults.map((fault) => ({ ...fault, ...skipped })));
      }
      yield { position, row, action, link_id, path, fields, before, message };
      position += 1;
    }
    if (signal.aborted) throw failCancelled();
    // What is wrong with the whole source is no row that could be left out.
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

/** Its source is known when the last row was read. */
type Requested = { -readonly [Name in keyof PlanRequest]: PlanRequest[Name] };

function describe(wanted: PlanWanted): PlanRequest {
  const skips = wanted.skipsInvalid === true && ({ skips_invalid: true } as const);
  if ("filters" in wanted && wanted.operation === "update") {
    const rules = (wanted.rules ?? []).slice(0, mostRules);
    const fields = [...Object.keys(wanted.changes), ...rules.map(({ field }) => field)];
    const about = toSentence([...new Set(fields)]);
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

function readWanted(planning: Planning & Undoing, wanted: PlanWanted) {
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

type Judge = (row: PlannedRow) => Promise<PlannedRow>;

/**
 * Refuses rows that would lead where links may not lead, and those that the project's pricing plan
 * would refuse after the approval. Changes that all links share are refused as a whole; an undo is
 * not at fault, and does the rest.
 */
function createJudge(wanted: PlanWanted, owner: Owner, asking: ServerAccess): Judge {
  const { checkDestinations = () => [] } = owner;
  const checkPricing = createPricingCheck(owner, asking);
  return async (row) => {
    const { action, before } = row;
    const isWrite = action === "create" || action === "update";
    const problems = isWrite ? checkDestinations(row.fields ?? {}, before ?? {}) : [];
    // A rule need not lead each link to where it leads one.
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

/** The caller no longer waits for the work. */
export function failCancelled(): CallFailure {
  const message = "The call was cancelled; nothing was changed.";
  return new CallFailure("cancelled", message, { effect: "none", retry: "now" });
}
