import { McpServer, type CallToolResult } from "@modelcontextprotocol/server";

/** As many tools as Waypost has, each of which returns the same prepared result. */

// `bundle-bare.ts` passes the names and the result as JSON.
const { names, result } = JSON.parse(process.argv[2] ?? "") as {
  readonly names: readonly string[];
  readonly result: CallToolResult;
};

export function createBareTools(): McpServer {
  const server = new McpServer({ name: "bare", version: "0.0.0" });
  for (const name of names) {
    server.registerTool(name, { description: name }, () => result);
  }
  return server;
}
