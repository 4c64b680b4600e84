import type { FieldProblem } from "../../../contract/problem.ts";
import type { Plan, PlanRow } from "../../../state/plans.ts";
import { failForeign } from "../../access/limit-destinations.ts";
import type { Call } from "../tool.ts";

const pageRows = 500;
const mostProblems = 20;

/**
 * A plan may be older than the list of hosts that links may lead to: nothing of it is applied, and
 * nobody is asked to approve of it, where one of its rows would be refused.
 */
export async function refuseForeignRows(plan: Plan, { keyContext }: Call): Promise<void> {
  const { bulk, checkDestinations, limitsDestinations } = keyContext;
  if (!limitsDestinations()) return;
  const problems: FieldProblem[] = [];
  for (let from = 0; problems.length < mostProblems;) {
    const page = { from, limit: pageRows, actions: ["create", "update"] } as const;
    const rows = await bulk.listRows(plan, page);
    for (const row of rows) problems.push(...findForeign(row));
    const last = rows.at(-1);
    if (last === undefined) break;
    from = last.position + 1;
  }
  if (problems.length > 0) throw failForeign(problems.slice(0, mostProblems));

  function findForeign({ row, position, fields, before }: PlanRow): readonly FieldProblem[] {
    const found = checkDestinations(fields ?? {}, before ?? {});
    const number = row ?? position + 1;
    return found.map(({ field, message }) => ({ field, message: `Row ${number}: ${message}` }));
  }
}
