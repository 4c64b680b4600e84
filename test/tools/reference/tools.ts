import * as z from "zod";
import { approvalRules } from "../../../src/contract/rules/approval-rules.ts";
import { offeredConditions } from "../../../src/contract/filters.ts";
import { contract } from "../../../src/contract/index.ts";
import type { Tool } from "../../../src/mcp/tools/tool.ts";
import { createToolbox } from "../../../src/mcp/tools/toolbox.ts";
import { code, listCodes, writeTable } from "./table.ts";

/** Writes the tables of MCP tools and their arguments. */

const { tools } = createToolbox({ mode: "guarded", selection: [] });

export function writeTools(): string {
  const rows = tools.map((tool) => {
    const { name, description, effect } = tool;
    return [code(name), description, listArguments(tool), effect];
  });
  return writeTable(["tool", "does", "arguments", "effect"], rows);
}

const inputSchema = z.object({
  properties: z.record(z.string(), z.unknown()).default({}),
  required: z.array(z.string()).default([]),
});

/** Required arguments are bold and come first. */
function listArguments(tool: Tool): string {
  const { properties, required } = inputSchema.parse(tool.inputSchema(false));
  const optional = Object.keys(properties).filter((name) => !required.includes(name));
  const hasLinkFields = linkFields.every((name) => name in properties);
  const shown = hasLinkFields ? optional.filter((name) => !linkFields.includes(name)) : optional;
  return [
    ...required.map((name) => `**${code(name)}**`),
    ...shown.map(code),
    ...(hasLinkFields ? ["the [link fields](rest.md#link-fields)"] : []),
  ].join(", ");
}

const linkFields = Object.keys(contract.links.create.body.shape);

const fieldsSchema = z.object({
  items: z.object({
    properties: z.object({ field: z.object({ enum: z.array(z.string()) }) }),
  }),
});

/** Tools with the same fields share a row. */
export function writeToolFilters(): string {
  const tooled = new Map<string, readonly string[]>();
  for (const tool of tools) {
    const { filters } = inputSchema.parse(tool.inputSchema(false)).properties;
    if (filters === undefined) continue;
    const fields = listCodes(fieldsSchema.parse(filters).items.properties.field.enum);
    tooled.set(fields, [...(tooled.get(fields) ?? []), tool.name]);
  }
  const rows = [...tooled].map(([fields, names]) => [listCodes(names), fields]);
  const table = writeTable(["tools", "fields"], rows);
  return `${table}\n\nThe conditions are ${listCodes(offeredConditions)}.`;
}

export function writeApprovals(): string {
  const rows = Object.values(approvalRules).map(({ tools, when }) => [listCodes(tools), when]);
  return writeTable(["tool", "asks before it …"], rows);
}
