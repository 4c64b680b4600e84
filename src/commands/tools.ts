import type { Client } from "../client/client.ts";
import { inspectTools } from "../app/process/assistant.ts";
import { createLog, createReport } from "../app/process/log.ts";
import { openProbe } from "../app/process/open-client.ts";
import { readApiKey } from "../app/data/secrets.ts";
import { withDeployment } from "../app/process/deployment.ts";
import { UsageFault, type Config } from "../config.ts";
import { readCause } from "../contract/access.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { contract } from "../contract/index.ts";
import { Problem } from "../contract/problem.ts";
import { describeTools } from "../mcp/protocol/server.ts";
import { listVisible } from "../mcp/tools/toolbox.ts";
import { showHidden } from "../text/show-hidden.ts";
import { jsonHelp, type Command, type Invocation } from "./terminal/command.ts";
import { printJson, printTable, say } from "./terminal/output.ts";

const toolsFlags = { "--json": jsonHelp };

export const tools: Command<typeof toolsFlags> = {
  usages: { tools: ["list the tools, whether your key may use them, and their token cost", run] },
  flags: toolsFlags,
};

type ToolRow = {
  readonly tool: string;
  readonly state: string;
  readonly tokens: number;
  readonly reason?: string;
};

type DescribedTool = ReturnType<typeof describeTools>[number];

async function run({ config, flags, host }: Invocation<typeof toolsFlags>): Promise<void> {
  const rows = await readTools(config, host.version);
  const tokens = rows.reduce((sum, row) => sum + row.tokens, 0);
  if (flags.json === true) return printJson({ tools: rows, tokens });
  const count = rows.length === 1 ? "1 tool" : `${rows.length} tools`;
  printTable(
    ["TOOL", "ACCESS", "TOKENS", "WHY"],
    rows.map((row) => [row.tool, row.state, String(row.tokens), row.reason ?? ""]),
  );
  say(`${count}, about ${tokens} tokens in a model's context.`);
}

async function readTools(config: Config, version: string): Promise<readonly ToolRow[]> {
  const report = createReport(createLog(config));
  return withDeployment({ config, report }, async (deployment) => {
    const key = readApiKey(config);
    const { toolbox, keyContext } = await inspectTools({ config, version, key, deployment });
    await requireValid(openProbe(deployment, key));
    const visible = listVisible(toolbox, keyContext);
    return describeTools(visible).map((shown) => ({
      tool: shown.name,
      ...(toolbox.find(shown.name)?.readAccess(keyContext.access) ?? unknown),
      tokens: countTokens(shown),
    }));
  });
}

/**
 * Throws if a remote server rejects the key. Project keys can list links, and master keys projects.
 */
async function requireValid(client: Client): Promise<void> {
  const links = await readKeyFault(contract.links.index, client);
  const projects = links && (await readKeyFault(contract.projects.index, client));
  if (links === undefined || projects === undefined) return;
  const reason = showHidden(links).replace(/\.$/, "");
  throw new UsageFault(`${reason}; set another key (WAYPOST_API_KEY)`);
}

/** Returns the server's message if it rejects the key itself. */
async function readKeyFault(list: Endpoint, { call }: Client): Promise<string | undefined> {
  try {
    await call(list, { limit: 1 }, undefined, { isProbe: true });
  } catch (error) {
    const isInvalid = error instanceof Problem && readCause(error.message) === "key_invalid";
    if (isInvalid) return error.message;
  }
  return undefined;
}

const unknown = { state: "unknown" } as const;

/** Estimates the tokens that a model reads of a tool, at about four bytes a token. */
function countTokens({ name, description, inputSchema }: DescribedTool): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify({ name, description, inputSchema })) / 4);
}
