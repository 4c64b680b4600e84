import type { Client } from "../client/client.ts";
import { inspectTools } from "../app/process/assistant.ts";
import { createLog, createReport } from "../app/process/log.ts";
import { openProbe } from "../app/process/open-client.ts";
import { readApiKey } from "../app/data/secrets.ts";
import { withDeployment } from "../app/process/deployment.ts";
import { UsageFault } from "../config.ts";
import { readCause } from "../contract/access.ts";
import { Problem } from "../contract/problem.ts";
import { keyLists } from "../mcp/access/key-access.ts";
import { describeTools } from "../mcp/protocol/server.ts";
import { listVisible } from "../mcp/tools/toolbox.ts";
import { showHidden } from "../text/show-hidden.ts";
import { jsonHelp, type Command, type Invocation } from "./terminal/command.ts";
import { printJson, printTable, say } from "./terminal/output.ts";

/** `waypost tools` lists the MCP tools, and whether the key may use them. */

const toolsFlags = { "--json": jsonHelp };

export const tools: Command<typeof toolsFlags> = {
  usages: { tools: ["list the tools, whether your key may use them, and their token cost", run] },
  flags: toolsFlags,
};

async function run({ config, flags, runtime }: Invocation<typeof toolsFlags>): Promise<void> {
  const report = createReport(createLog(config));
  const rows = await withDeployment({ config, report }, async (deployment) => {
    const key = readApiKey(config);
    const inspecting = { config, version: runtime.version, key, deployment };
    const { toolbox, keyContext } = await inspectTools(inspecting);
    await requireValid(openProbe(deployment, key));
    const visible = listVisible(toolbox, keyContext);
    return describeTools(visible).map((tool, at) => {
      const access: ToolState = visible[at]?.readAccess(keyContext.access) ?? {};
      return { tool: tool.name, ...access, tokens: countTokens(tool) };
    });
  });
  const tokens = rows.reduce((sum, row) => sum + row.tokens, 0);
  if (flags.json === true) return printJson({ tools: rows, tokens });
  const cells = rows.map(({ tool, state = "", tokens, reason = "" }) => {
    return [tool, state, String(tokens), reason];
  });
  printTable(["TOOL", "ACCESS", "TOKENS", "WHY"], cells);
  const count = rows.length === 1 ? "1 tool" : `${rows.length} tools`;
  say(`${count}, about ${tokens} tokens in a model's context.`);
}

type ToolState = { readonly state?: string; readonly reason?: string };

async function requireValid({ call }: Client): Promise<void> {
  let reason = "";
  for (const list of keyLists) {
    const probe = call(list, { limit: 1 }, undefined, { isProbe: true });
    const error: unknown = await probe.then(() => undefined).catch((thrown: unknown) => thrown);
    if (!(error instanceof Problem) || readCause(error.message) !== "key_invalid") return;
    reason ||= showHidden(error.message).replace(/\.$/, "");
  }
  throw new UsageFault(`${reason}; set another key (WAYPOST_API_KEY)`);
}

type DescribedTool = ReturnType<typeof describeTools>[number];

/** Estimates how many tokens a tool's description takes, at four bytes per token. */
function countTokens({ name, description, inputSchema }: DescribedTool): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify({ name, description, inputSchema })) / 4);
}
