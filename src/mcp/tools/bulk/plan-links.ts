import * as z from "zod";
import { CsvFault, readCsv } from "../../../bulk/files/csv.ts";
import type { Owner } from "../../../bulk/owner.ts";
import { ruledFields } from "../../../bulk/plan/change-by-rule.ts";
import type { PlanInput } from "../../../bulk/plan/make-plan.ts";
import type { FilterPlanInput } from "../../../bulk/plan/plan-rows.ts";
import { listLinkHosts } from "../../../contract/access.ts";
import type { FilterInput } from "../../../contract/filters.ts";
import { contract } from "../../../contract/index.ts";
import { isJsonObject, type JsonObject } from "../../../contract/json.ts";
import type { LinkFields } from "../../../contract/links.ts";
import { planOperations, type Plan, type PlanOperation } from "../../../state/plans.ts";
import { requireAct, requireRight } from "../../access/key-access.ts";
import { refuseArguments, type ToolFailure } from "../../results/tool-failure.ts";
import {
  listFields,
  shownFilters,
  shownSearch,
  type ToolFields,
} from "../../schemas/input-schema.ts";
import { makeTool, type ToolCall, type Tool } from "../tool.ts";
import { readWriting, requireActs, requireJob } from "./bulk-tool.ts";
import { describeRules, findRuleFaults, listRules, type RuleArguments } from "./rule-arguments.ts";
import { planSchema, showPlan } from "./show-plan.ts";
import { summarizePlan } from "./summarize-plan.ts";

/** The tool that plans changes to many links. It reads and compares links, and writes nothing. */

const { links, iosApps, androidApps } = contract;
const acts = [links.upsert, links.update, links.destroy, iosApps.create, androidApps.create];
const name = "plan_links";

export function createPlanLinks(): Tool {
  return makeTool({
    group: "bulk",
    readAccess: readWriting,
    name,
    title: "Plan many links",
    description:
      "Plan changes to many links from rows, CSV or filters, or a job's undo. Changes nothing: " +
      "show the plan to the user, then apply it.",
    effect: "read",
    preparesWriting: true,
    like: { what: "Filters", tool: links.index.tool },
    // Link fields have no schema of their own here, because the tools for single links describe
    // them.
    fields: listSources,
    checkedFields: () => ({
      ...listSources(false),
      // Rows are validated later one by one, because copying all of them here would double the
      // memory.
      rows: z.array(z.custom<object>(isJsonObject, "must be an object")).optional(),
      changes: z.object(links.update.body.shape).optional(),
      ...describeRules(z.enum(ruledFields)),
    }),
    result: () => ({ plan: planSchema }),
    run: async (args, call) => {
      const { bulk } = call.keyContext;
      const wanted = await readPlanRequest(args, call);
      const owner: Owner = {
        ...call.keyContext,
        requireRight: (endpoint) => requireRight({ tool: name, endpoint }, call.keyContext),
      };
      const plan = await bulk.plan(wanted, owner, call.signal);
      await refuseExcludedActions(plan, call);
      return { plan: await showPlan(plan, bulk) };
    },
  });
}

/**
 * Throws if the plan needs an action that the operator excluded. This is known only after the rows
 * were compared with the existing links. The unused plan expires.
 */
async function refuseExcludedActions(plan: Plan, call: ToolCall): Promise<void> {
  const { bulk, isActAllowed } = call.keyContext;
  if (acts.every(isActAllowed)) return;
  const { keyContext, signal } = call;
  requireActs(await summarizePlan(bulk, plan, keyContext, { signal }), call);
}

function listSources(isTerse: boolean): ToolFields {
  const { filters, search } = listFields(links.index, { idText: "" });
  const object = z.record(z.string(), z.unknown());
  return {
    operation: z
      .enum(planOperations)
      .optional()
      .describe("upsert creates or overwrites by path. Not with undo"),
    rows: z
      .array(object)
      .optional()
      .describe("Link fields; id (UUID, name or address) or path to update or delete"),
    csv: z
      .string()
      .optional()
      .describe("With a header of field names, or another service's export"),
    ...(filters && { filters: isTerse ? shownFilters() : filters }),
    ...(search && { search: isTerse ? shownSearch() : search }),
    changes: object.optional().describe("With filters and update: link fields to set"),
    ...describeRules(z.string()),
    skip_invalid: z.boolean().optional().describe("Leave out invalid rows"),
    undo: z.string().optional().describe("Id of a job to undo; no other arguments"),
  };
}

type PlanArguments = {
  readonly undo?: string;
  readonly operation?: PlanOperation;
  readonly rows?: readonly object[];
  readonly csv?: string;
  readonly filters?: readonly FilterInput[];
  readonly search?: string;
  readonly changes?: LinkFields;
  readonly skip_invalid?: boolean;
} & RuleArguments;

/**
 * Parses the arguments for a plan, and requires exactly one source of rows. `changes` and rules
 * work only with filters.
 */
async function readPlanRequest(args: JsonObject, call: ToolCall): Promise<PlanInput> {
  const given = args as PlanArguments;
  const { operation, undo, search } = given;
  const filters = given.filters ?? (search === undefined ? undefined : []);
  if (undo !== undefined) {
    if (Object.keys(given).length > 1) {
      throw refuseField("undo", "undo takes no other arguments; leave them out");
    }
    const job = await requireJob({ job_id: undo }, call);
    if (!job.isHeld) return { undo: job };
    throw refuseField("undo", "the job is still running; wait until it ends, or cancel it first");
  }
  if (operation === undefined) {
    throw refuseField("operation", "operation is required, except with undo");
  }
  // Applying a plan reads each link by its ID, so permission to read single links is also needed.
  for (const endpoint of [links.show, endpoints[operation]]) {
    requireRight({ tool: name, endpoint }, call.keyContext);
  }
  if (operation !== "upsert") requireAct(endpoints[operation], call.keyContext);
  const sources = [given.rows, given.csv, filters].filter((source) => source !== undefined);
  if (sources.length !== 1) {
    throw refuseField("rows", `${name} takes exactly one of rows, csv and filters`);
  }
  const { skip_invalid: skipsInvalid = false } = given;
  if (filters !== undefined) {
    return { ...readFilterSource(operation, filters, given), skipsInvalid };
  }
  const misplaced = ["changes", ...ruleNames].find((each) => each in given);
  if (misplaced !== undefined) {
    throw refuseField(
      misplaced,
      "changes, replace, add_query and path_prefix need filters; with rows or csv, each row sets " +
        "its own fields",
    );
  }
  const linkHosts = listLinkHosts(call.keyContext.known);
  return { operation, source: await readSource(name, given), linkHosts, skipsInvalid };
}

const ruleNames = ["replace", "add_query", "path_prefix"] as const;

const endpoints = { upsert: links.upsert, update: links.update, delete: links.destroy } as const;

function readFilterSource(
  operation: PlanOperation,
  filters: readonly FilterInput[],
  { search, changes = {}, replace, add_query, path_prefix }: PlanArguments,
): FilterPlanInput {
  if (filters.length === 0 && search === undefined) {
    throw refuseField("filters", "an empty list would match every link; give at least one filter");
  }
  if (operation === "upsert") {
    throw refuseField("operation", "filters work with update or delete; upsert takes rows or csv");
  }
  const given = {
    ...(replace && { replace }),
    ...(add_query && { add_query }),
    ...(path_prefix !== undefined && { path_prefix }),
  };
  const hasRules = Object.keys(given).length > 0;
  const isEmpty = Object.keys(changes).length === 0 && !hasRules;
  if (isEmpty !== (operation === "delete")) {
    const some = "changes, replace, add_query or path_prefix";
    throw refuseField("changes", `update by filters needs ${some}; delete takes none of them`);
  }
  const rules = listRules(given);
  const faults = findRuleFaults(given, changes);
  if (faults.length > 0) throw refuseArguments(name, faults);
  return { operation, filters, search, changes, ...(hasRules && { rules }) };
}

function refuseField(field: string, message: string): ToolFailure {
  return refuseArguments(name, [{ field, message }]);
}

/** The number of rows from an assistant is limited, because they are kept in memory. */

type RowArguments = { readonly rows?: readonly object[]; readonly csv?: string };

const mostRows = 10_000;
const mostBytes = 4_000_000;

async function readSource(tool: string, { rows = [], csv }: RowArguments) {
  if (csv === undefined) {
    if (rows.length > mostRows || isLargerList(rows)) throw refuseLarge(tool, "rows");
    return { rows };
  }
  if (Buffer.byteLength(csv) > mostBytes || (await hasMoreRecords(csv))) {
    throw refuseLarge(tool, "csv");
  }
  return { csv };
}

/** Whether the CSV has too many records. Ignores invalid CSV, which the plan reports. */
async function hasMoreRecords(csv: string): Promise<boolean> {
  let left = mostRows + 1;
  try {
    for await (const _ of readCsv(csv)) if ((left -= 1) < 0) return true;
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error;
  }
  return false;
}

function isLargerList(rows: readonly object[]): boolean {
  let bytes = 0;
  // Serializes row by row, to avoid a copy of all rows in memory.
  return rows.some((row) => (bytes += Buffer.byteLength(JSON.stringify(row))) > mostBytes);
}

function refuseLarge(tool: string, field: string) {
  const rows = mostRows.toLocaleString("en");
  const message = `${field} has more than ${rows} rows or ${mostBytes / 1_000_000} MB`;
  const fix =
    "Split it into several plans, select the links with filters, or ask the user to run " +
    "`waypost import` in a terminal, which takes larger files.";
  return refuseArguments(tool, [{ field, message, fix }]);
}
