import { expect } from "vitest";
import type { AssistantClient } from "./assistant-world.ts";

/** A call of a tool whose end is known beforehand: its result, or why it failed. */

export type Args = Readonly<Record<string, unknown>>;

type Client = Pick<AssistantClient, "callTool">;

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
