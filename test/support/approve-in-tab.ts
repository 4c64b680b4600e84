import type { Page } from "playwright-core";
import { expect } from "vitest";
import type { AssistantClient } from "./assistant-world.ts";
import { decideInTab } from "./browser.ts";
import { callDone, type Args } from "./call-tool.ts";

/**
 * A call as an assistant makes it: where a person is asked they say yes in their browser, and it
 * calls again. `text` is what the person read; it is undefined where nobody was asked.
 */
export async function approveInTab(
  tab: Page,
  client: AssistantClient,
  tool: string,
  args: Args = {},
) {
  const { error, ...done } = (await client.callTool(tool, args)).structured;
  if (error === undefined) return { text: undefined, done };
  expect(error).toMatchObject({ code: "approval_required", effect: "none" });
  const text = await decideInTab(tab, error.approval.url, "approve");
  return { text, done: await callDone(client, tool, args) };
}
