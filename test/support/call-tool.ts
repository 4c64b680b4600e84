import { expect } from "vitest";
import type { ToolResult } from "./mcp-clients.ts";

/** A call of a tool whose end is known beforehand: its result, or why it failed. */

export type Args = Readonly<Record<string, unknown>>;

type Client = { readonly callTool: (tool: string, args: Args) => Promise<ToolResult> };

export async function callDone({ callTool }: Client, tool: string, args: Args = {}) {
  const { structured } = await callTool(tool, args);
  expect(structured.error, `${tool} ${JSON.stringify(structured.error)}`).toBeUndefined();
  return structured;
}

export async function callRefused({ callTool }: Client, tool: string, args: Args = {}) {
  const { structured } = await callTool(tool, args);
  expect(structured.error, JSON.stringify(structured)).toBeDefined();
  return structured.error;
}
