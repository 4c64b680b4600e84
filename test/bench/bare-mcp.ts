import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

/** The bare server: what the SDK costs with as many tools, of which none does anything. */

const names = process.argv.slice(2);

serveStdio(() => {
  const server = new McpServer({ name: "bare", version: "0.0.0" });
  for (const name of names) {
    server.registerTool(name, { description: name }, () => ({ content: [] }));
  }
  return server;
});
