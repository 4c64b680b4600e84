import { createPricingCheck } from "../../../bulk/plan/check-pricing.ts";
import { unauthorized, type FieldProblem } from "../../../contract/problem.ts";
import type { Plan, PlanAction, PlanRow } from "../../../state/plans.ts";
import { failForeign } from "../../access/limit-destinations.ts";
import { explainEnd } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";

/** A plan may be older than the rules that its rows have to keep to. */

const pageRows = 500;
const mostProblems = 20;

/**
 * Refuses a whole plan, before anyone is asked to approve it, when one of its rows points to a host
 * that links may not use.
 */
export async function refuseForeignRows(plan: Plan, { keyContext }: Call): Promise<void> {
  const { checkDestinations, limitsDestinations } = keyContext;
  if (!limitsDestinations()) return;
  const problems: FieldProblem[] = [];
  for await (const row of listRows(plan, ["create", "update"], keyContext)) {
    if (problems.length >= mostProblems) break;
    problems.push(...findForeign(row));
  }
  if (problems.length > 0) throw failForeign(problems.slice(0, mostProblems));

  function findForeign({ row, position, fields, before }: PlanRow): readonly FieldProblem[] {
    const found = checkDestinations(fields ?? {}, before ?? {});
    const number = row ?? position + 1;
    return found.map(({ field, message }) => ({ field, message: `Row ${number}: ${message}` }));
  }
}

/** The project's pricing plan and its limit of links, which may be lower than they were. */
export async function refuseUnpaidRows(plan: Plan, call: Call, tool: string): Promise<void> {
  const { keyContext, signal } = call;
  const { facts, linkLimit } = keyContext.known;
  if (facts === undefined || (facts.plan === "pro" && linkLimit === undefined)) return;
  const findFault = createPricingCheck(keyContext, { ...keyContext, signal });
  for await (const row of listRows(plan, ["create", "update", "delete"], keyContext)) {
    const fault = await findFault(row);
    if (fault !== undefined) throw explainEnd({ tool }, unauthorized(fault.message));
  }
}

async function* listRows(
  plan: Plan,
  actions: readonly PlanAction[],
  { bulk }: Call["keyContext"],
): AsyncGenerator<PlanRow> {
  for (let from = 0; ;) {
    const rows = await bulk.listRows(plan, { from, limit: pageRows, actions });
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    from = last.position + 1;
  }
}
