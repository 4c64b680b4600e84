import type { FilterInput } from "../../contract/filters.ts";
import type { LinkFields, ReadLink } from "../../contract/links.ts";
import { Problem, toSentence, type FieldProblem } from "../../contract/problem.ts";
import { checkLink } from "../../contract/rules/link-rules.ts";
import type { PlanRule } from "../../state/plans.ts";
import { checkChanges } from "../rows/check-rows.ts";
import { findTaken, type TakenPaths } from "../select/find-links.ts";
import { selectParts } from "../select/select-links.ts";
import { applyRules, listRuledFields } from "./change-by-rule.ts";
import { listUnknown } from "./plan-rows.ts";
import { createAppSettling } from "./settle-apps.ts";
import {
  planChange,
  planDeletion,
  planRefusal,
  planUnread,
  planUpdate,
  type PlannedRow,
  type PlanContext,
  type SettledRow,
} from "./plan-rows.ts";

/** Plans the same changes or rules for all links that match filters. */

export type FilterPlanInput = {
  readonly operation: "update" | "delete";
  readonly filters: readonly FilterInput[];
  /** A search text, in addition to the filters. */
  readonly search?: string | undefined;
  /** The new values for every link. */
  readonly changes: LinkFields;
  /** Rules that compute a value per link. They never target the fields in `changes`. */
  readonly rules?: readonly PlanRule[];
};

export async function* planFilters(
  planning: PlanContext,
  { filters, search, changes: given, rules }: FilterPlanInput,
): AsyncGenerator<PlannedRow> {
  const isDeletion = planning.operation === "delete";
  const { fault, ...settled } = await createAppSettling(planning)(given);
  const faults = isDeletion ? [] : checkChanges(given);
  const problems = [...faults, ...settled.problems];
  if (problems.length > 0) throw refuseChanges(problems);
  if (fault !== undefined) throw refuseChanges([{ field: "", message: fault }]);
  const row = { ...unknownLink, ...settled, problems: [] };
  const planLink = isDeletion ? planDeletion : planChange;
  const ruling = { row, rules: rules ?? [], left: new Set<string>(), given: new Set<string>() };
  for await (const { rows, unread } of selectParts(planning, filters, search)) {
    if (rules === undefined) for (const link of rows) yield planLink(row, link);
    else yield* planRuled(planning, rows, ruling);
    for (let left = unread; left > 0; left -= 1) yield unreadLink;
  }
}

const unknownLink = { row: null, link_id: null, path: null, fields: {}, problems: [] };
/** Reported as a conflict, because a matching link could not be parsed. */
const unreadMessage = "A link that matches the filters could not be read";
const unreadLink = planRefusal("conflict", unknownLink, unreadMessage);

export function refuseChanges(problems: readonly FieldProblem[]): Problem {
  const message = toSentence(problems.map((problem) => problem.message));
  const placed = problems.map(({ field, ...rest }) => {
    return { field: field === "" ? "changes" : `changes.${field}`, ...rest };
  });
  return new Problem(422, message, { problems: placed });
}

type RuleContext = {
  /** The values that all links get. */
  readonly row: SettledRow;
  readonly rules: readonly PlanRule[];
  /** The paths that the plan's earlier links give up (`left`) and receive (`given`). */
  readonly left: Set<string>;
  readonly given: Set<string>;
};

type RuledRow = SettledRow & { readonly link: ReadLink };

async function* planRuled(
  planning: PlanContext,
  links: readonly ReadLink[],
  ruling: RuleContext,
): AsyncGenerator<PlannedRow> {
  const ruled = links.map((link) => ruleLink(link, ruling));
  const sound = ruled.filter(({ problems }) => problems.length === 0);
  const newPaths = [...new Set(sound.flatMap(({ fields }) => fields.path ?? []))];
  const taken = await findTaken(planning, newPaths, { newPaths, hasShort: true });
  for (const each of ruled) yield planRuledLink(each, ruling, taken);
}

function ruleLink(link: ReadLink, { row, rules }: RuleContext): RuledRow {
  const ruled = applyRules(link, rules);
  const { values, problems } = checkLink(ruled.fields, "update");
  // Paths are looked up and sent in normalized form.
  const path = values.path === undefined ? {} : { path: values.path };
  const fields = { ...row.fields, ...ruled.fields, ...path };
  return { ...row, link, link_id: link.id, fields, problems: [...ruled.problems, ...problems] };
}

function planRuledLink(
  { link, ...ruled }: RuledRow,
  { rules, left, given }: RuleContext,
  taken: TakenPaths,
): PlannedRow {
  const fields = listRuledFields(rules);
  const unread = listUnknown(link).filter((field) => fields.has(field));
  if (unread.length > 0) return planUnread(ruled, link, unread);
  const row = { ...ruled, path: link.path ?? null, problems: [] };
  if (ruled.problems.length > 0) {
    return planRefusal("invalid", row, ruled.problems.map(({ message }) => message).join("; "));
  }
  const goal = row.fields.path ?? undefined;
  if (goal !== undefined && goal !== link.path && given.has(goal)) {
    return planRefusal("conflict", row, "Another link in the plan moves to the same path");
  }
  const planned = planUpdate(row, link, taken, left);
  if (goal !== undefined && planned.action === "update") given.add(goal);
  return planned;
}
