import type { Endpoint } from "../../contract/endpoint.ts";
import type { JsonObject } from "../../contract/json.ts";
import { findKind, groups } from "../../contract/resource-kind.ts";
import { findNearest } from "../../text/nearest-name.ts";
import { quote } from "../../text/show-hidden.ts";
import { refuseUnchosen, refuseWriting, type Access } from "../access/key-access.ts";
import type { KeyContext, VisibleListeners } from "../access/key-context.ts";
import type { Mode } from "../../contract/rights.ts";
import type { ToolFailure } from "../results/tool-failure.ts";
import { once } from "../../contract/waiting.ts";
import { createExplainAccess } from "./access.ts";
import { createAuditLinks } from "./audit.ts";
import { listActs, type PlanActs } from "./bulk/bulk-tool.ts";
import { createExportLinks } from "./bulk/export-links.ts";
import { createJobTools } from "./bulk/jobs.ts";
import { createPlanLinks } from "./bulk/plan-links.ts";
import { createCheckDomain } from "./domain.ts";
import { deriveTools } from "./endpoints/endpoint-tools.ts";
import { createListChanges } from "./history/list-changes.ts";
import { createUndo } from "./history/undo.ts";
import { createExplainLink } from "./links.ts";
import { createLinkStats } from "./stats.ts";
import type { Tool } from "./tool.ts";

/** The tools that this configuration offers to all keys. */
export type Toolbox = {
  readonly tools: readonly Tool[];
  readonly find: (name: string) => Tool | undefined;
  /**
   * Whether the operator allows this endpoint's action. Excluding the endpoint's tool or group
   * forbids it. Selecting only other tools does not.
   */
  readonly isActAllowed: (endpoint: Endpoint) => boolean;
  readonly mayApply: (acts: PlanActs, access: Access) => boolean;
  /** Returns the error for a tool that the mode or the operator's selection excludes. */
  readonly explainLeftOut: (name: string) => ToolFailure | undefined;
  /** Returns the most similar tool name, for typos. */
  readonly suggest: (name: string) => string | undefined;
};

export type ToolboxOptions = {
  readonly mode: Mode;
  /** Groups and names of tools from the operator's settings. An empty list selects all tools. */
  readonly selection: readonly string[];
};

/** Thrown if the operator's selection contains an unknown name. */
export class UnknownTool extends Error {
  override readonly name = "UnknownTool";
}

export function createToolbox({ mode, selection }: ToolboxOptions): Toolbox {
  const made: readonly Tool[] = [
    ...deriveTools(),
    createPlanLinks(),
    ...createJobTools(),
    createExportLinks(),
    createListChanges(),
    createUndo(),
    createAuditLinks(({ access }) => mayCall("plan_links", access)),
    createLinkStats(),
    createExplainLink(),
    createCheckDomain(),
    createExplainAccess(() => tools, mode),
  ];
  const all = takeBuiltSchemas(made);
  const { isChosen, isExcludedTool } = readSelection(selection, all);
  const tools = all.filter((tool) => isChosen(tool) && isAllowed(tool, mode));
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  function mayCall(name: string, access: Access): boolean {
    const tool = byName.get(name);
    return tool !== undefined && tool.readAccess(access).state !== "denied";
  }
  const isActAllowed = (endpoint: Endpoint) =>
    !isExcludedTool({ name: endpoint.tool, group: findKind(endpoint).group });
  return {
    tools,
    explainLeftOut: (name) => {
      const tool = all.find((each) => each.name === name);
      if (tool === undefined || byName.has(name)) return undefined;
      return isAllowed(tool, mode) ? refuseUnchosen(name) : refuseWriting(name);
    },
    find: (name) => byName.get(name),
    isActAllowed,
    mayApply: (acts, access) => mayCall("apply_plan", access) && listActs(acts).every(isActAllowed),
    suggest: (name) => findNearest(name, byName.keys()),
  };
}

/** Lists all tools except those that the key is known to lack access to. */
export function listVisible({ tools }: Toolbox, { access }: KeyContext): readonly Tool[] {
  return tools.filter((tool) => tool.readAccess(access).state !== "denied");
}

export function nameVisible(toolbox: Toolbox, keyContext: KeyContext): ReadonlySet<string> {
  return new Set(listVisible(toolbox, keyContext).map(({ name }) => name));
}

/**
 * Notifies clients only if tools appear or disappear, because clients then read the whole list
 * again.
 */
export function watchVisible(
  toolbox: Toolbox,
  keyContext: KeyContext,
  notify: () => void,
): VisibleListeners {
  const list = () => [...nameVisible(toolbox, keyContext)].join();
  let last = list();
  return {
    onChange: () => {
      const current = list();
      if (current === last) return;
      last = current;
      notify();
    },
    onListed: () => {
      last = list();
    },
  };
}

function isAllowed({ effect, preparesWriting = false }: Tool, mode: Mode): boolean {
  return mode !== "read-only" || (effect === "read" && !preparesWriting);
}

type NamedTool = Pick<Tool, "name" | "group">;

/**
 * Parses a selection such as `links,shorten_link,-delete_link`: groups and names to offer or to
 * exclude.
 */
function readSelection(selection: readonly string[], tools: readonly Tool[]) {
  const names = [...groups, ...tools.map((tool) => tool.name)];
  for (const word of selection) {
    const name = word.replace(/^-/, "");
    if (names.includes(name)) continue;
    const nearest = findNearest(name, names);
    const hint = nearest === undefined ? `known: ${names.join(", ")}` : `did you mean ${nearest}`;
    throw new UnknownTool(`unknown tool or group ${quote(name)}; ${hint}`);
  }
  const chosen = selection.filter((word) => !word.startsWith("-"));
  const isExcluded = (name: string) => selection.includes(`-${name}`);
  const isExcludedTool = ({ name, group }: NamedTool) =>
    isExcluded(name) || (group !== undefined && isExcluded(group) && !chosen.includes(name));
  const isChosen = (tool: NamedTool) => {
    if (isExcludedTool(tool)) return false;
    const { name, group } = tool;
    const isNamed = chosen.length === 0 || chosen.includes(name);
    return isNamed || group === undefined || chosen.includes(group);
  };
  return { isChosen, isExcludedTool };
}

/**
 * The tools' JSON Schemas from the build (test/tools/build.js), because generating them slows down
 * start-up. Without a build, each schema is generated on first use.
 */
declare const WAYPOST_SCHEMAS: string;

type BuiltSchemas = Readonly<Record<"full" | "terse" | "output", JsonObject>>;

function takeBuiltSchemas(tools: readonly Tool[]): readonly Tool[] {
  if (typeof WAYPOST_SCHEMAS === "undefined") return tools;
  const read = once(() => JSON.parse(WAYPOST_SCHEMAS) as Readonly<Record<string, BuiltSchemas>>);
  return tools.map((tool) => ({
    ...tool,
    inputSchema: (isTerse) =>
      read()[tool.name]?.[isTerse ? "terse" : "full"] ?? tool.inputSchema(isTerse),
    outputSchema: () => read()[tool.name]?.output ?? tool.outputSchema(),
  }));
}

/** Serializes the schemas of all tools for the build. */
export function writeBuiltSchemas(tools: readonly Tool[]): string {
  const schemas = tools.map((tool) => [tool.name, readSchemas(tool)]);
  return JSON.stringify(Object.fromEntries(schemas));
}

function readSchemas({ inputSchema, outputSchema }: Tool): BuiltSchemas {
  return { full: inputSchema(false), terse: inputSchema(true), output: outputSchema() };
}
