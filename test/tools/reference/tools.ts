import { approvalRules } from "../../../src/contract/approval-rules.ts";
import { createToolbox } from "../../../src/mcp/tools/toolbox.ts";
import { code, listCodes, writeTable } from "./table.ts";

export function writeTools(): string {
  const { tools } = createToolbox({ mode: "guarded", selection: [] });
  const rows = tools.map(({ name, description, effect }) => [code(name), description, effect]);
  return writeTable(["tool", "does", "effect"], rows);
}

export function writeApprovals(): string {
  const rows = Object.values(approvalRules).map(({ tools, when }) => [listCodes(tools), when]);
  return writeTable(["tool", "asks before it …"], rows);
}
