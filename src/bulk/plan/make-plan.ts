import type { Random } from "../../contract/clock.ts";
import { unauthorized } from "../../contract/problem.ts";
import type { Job } from "../../state/jobs.ts";
import type { Plan, PlanOperation, PlanProblem, PlanRequest, PlanRow } from "../../state/plans.ts";
import type { State } from "../../state/state.ts";
import { throwIfCancelled } from "../bulk-errors.ts";
import type { Asking, CheckDestinations, Owner } from "../owner.ts";
import { readRows, type Findings, type RowSource, type SettleRow } from "../rows/read-rows.ts";
import { createPricingCheck } from "./check-pricing.ts";
import { createProjectApps } from "../select/project-apps.ts";
import { chooseApps, readKnownApps } from "./known-apps.ts";
import { planFilters, refuseChanges, type FilterWanted } from "./plan-filters.ts";
import { planRows, type Planning, type UnnumberedRow } from "./plan-rows.ts";
import { planUndo, type Undoing } from "./plan-undo.ts";
import { tellRules, wordChanges, wordFile } from "./word-request.ts";

/** Plans what is wanted, whatever it comes from, and saves the plan. */

export type PlanWanted = (
  | {
      readonly operation: PlanOperation;
      readonly source: RowSource;
      /** What the file is called that the rows come from. */
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
const mostProblems = 1000;
/** Parameters may be many, and are told of in the links that they change. */
const mostRules = 100;
const allowAll: CheckDestinations = () => [];

export async function makePlan(
  { state, random, signal }: Planner,
  wanted: PlanWanted,
  owner: Owner,
): Promise<MadePlan> {
  const { key_print, origin, call, linkHost, requireRight } = owner;
  const { keepsBin = false, takesAnyId = false } = owner;
  const undoes = "undo" in wanted ? wanted.undo.id : null;
  // The rows of an undo create, change and delete links.
  const operation = "undo" in wanted ? "upsert" : wanted.operation;
  const createPath = () => Buffer.from(random.bytes(pathBytes)).toString("hex");
  const asking = { call, signal, linkHost, ownOrigin: takesAnyId ? undefined : linkHost };
  const apps = createProjectApps(asking);
  const planning = { ...asking, operation, createPath, requireRight, takesAnyId, apps };
  const undoing = { ...planning, jobs: state.jobs, keepsBin };
  const { rows, listFindings } = readWanted(undoing, wanted);
  // What is wrong with the whole source is only known when its last row was read.
  const problems: PlanProblem[] = [];
  const judge = createJudge(wanted, owner, asking);
  const { skipsInvalid = false } = wanted;
  const request: Requested = { ...describe(wanted) };
  const listFound = () => {
    const { problems: found, ...source } = listFindings();
    if (source.format !== undefined || source.unmapped.length > 0) request.source = source;
    return found;
  };
  const numbered = numberRows(rows, { judge, problems, skipsInvalid, listFound }, signal);
  const saved = { key_print, origin, operation, undoes, problems, request };
  const plan = await state.plans.save(saved, numbered);
  const { unmapped, warnings, format } = listFindings();
  return { plan, unmapped, warnings, format };
}

/** Its source is known when the last row was read. */
type Requested = { -readonly [Name in keyof PlanRequest]: PlanRequest[Name] };

function describe(wanted: PlanWanted): PlanRequest {
  const skips = wanted.skipsInvalid === true && ({ skips_invalid: true } as const);
  if ("filters" in wanted && wanted.operation === "update") {
    const rules = tellRules(wanted.rules ?? {}).slice(0, mostRules);
    const words = wordChanges(wanted.changes, rules);
    return { words, ...(rules.length > 0 && { rules }), ...skips };
  }
  if ("undo" in wanted) {
    const { done, left } = wanted.undo.counts;
    return { undone: { done, left } };
  }
  const file = "source" in wanted ? wanted.file : undefined;
  if (!("source" in wanted) || file === undefined) return { ...skips };
  return { words: wordFile(wanted.operation, file), ...skips };
}

function readWanted(planning: Planning & Undoing, wanted: PlanWanted) {
  if ("source" in wanted) {
    const { source, linkHosts } = wanted;
    const settle = linkHosts === undefined ? undefined : nameApps(planning);
    const options = { takesAnyId: planning.takesAnyId, linkHosts, settle };
    const { rows, listFindings } = readRows(source, wanted.operation, options);
    return { rows: planRows(planning, rows), listFindings };
  }
  const rows = "undo" in wanted ? planUndo(planning, wanted.undo) : planFilters(planning, wanted);
  const findings: Findings = { problems: [], unmapped: [], warnings: [], format: undefined };
  return { rows, listFindings: () => findings };
}

/** What a deletion has no use for is refused with its row. */
function nameApps({ operation, apps, takesAnyId }: Planning): SettleRow | undefined {
  if (operation === "delete") return undefined;
  return async (given) => {
    const known = await readKnownApps(apps, given.fields);
    const { fields, problems } = chooseApps(given.fields, known, takesAnyId);
    return { ...given, fields, problems: [...given.problems, ...problems] };
  };
}

type Judge = (row: UnnumberedRow) => Promise<UnnumberedRow>;

/**
 * Refuses rows that would lead where links may not lead, and those that the project's pricing plan
 * would refuse after the approval. Changes that all links share are refused as a whole; an undo is
 * not at fault, and does the rest.
 */
function createJudge(wanted: PlanWanted, owner: Owner, asking: Asking): Judge {
  const { checkDestinations = allowAll } = owner;
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

/**
 * Numbers the rows, and when the last has come, notes the faults: those that reading has found,
 * and those that only a look at the links could find.
 */
async function* numberRows(
  rows: AsyncIterable<UnnumberedRow>,
  { judge, problems, skipsInvalid, listFound }: Noting,
  signal: AbortSignal,
): AsyncGenerator<PlanRow> {
  const later: PlanProblem[] = [];
  const skipped = new Set<number | undefined>();
  let position = 0;
  for await (const unjudged of rows) {
    // What throws here leaves no plan: it stays a draft, and drafts are dropped.
    throwIfCancelled(signal);
    const row = await judge(unjudged);
    const isFaulty = row.action === "invalid";
    if (isFaulty && later.length < mostProblems) later.push(describeFault(row));
    if (isFaulty && skipsInvalid) skipped.add(row.row ?? undefined);
    yield { position, ...row };
    position += 1;
  }
  throwIfCancelled(signal);
  const found = listFound();
  const known = new Set(found.map((problem) => problem.row));
  const all = [...found, ...later.filter((problem) => !known.has(problem.row))];
  // What is wrong with the whole source is no row that could be left out.
  problems.push(
    ...all.map((each) => (skipped.has(each.row) ? { ...each, skipped: true as const } : each)),
  );
}

function describeFault({ row, path, link_id, message }: UnnumberedRow): PlanProblem {
  const place = row === null ? { link: path ?? link_id ?? "" } : { row };
  return { ...place, message: message ?? "" };
}

type Noting = {
  readonly judge: Judge;
  /** What is wrong with the plan; it is filled when the last row has come. */
  readonly problems: PlanProblem[];
  readonly skipsInvalid: boolean;
  readonly listFound: () => readonly PlanProblem[];
};
