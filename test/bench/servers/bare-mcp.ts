import { getRequestListener } from "@hono/node-server";
import {
  createMcpHandler,
  isLegacyRequest,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
  type CallToolResult,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The bare MCP server: as many tools as Waypost, each with the same prepared result. */

// `bundle-bare.ts` passes these.
const [, , transport, said = ""] = process.argv;
const { names, result } = JSON.parse(said) as {
  readonly names: readonly string[];
  readonly result: CallToolResult;
};

function createBareTools(): McpServer {
  const server = new McpServer({ name: "bare", version: "0.0.0" });
  for (const name of names) server.registerTool(name, { description: name }, () => result);
  return server;
}

/** With sessions for the earlier revisions. */
function serveHttp(): void {
  const modern = createMcpHandler(createBareTools, { legacy: "reject" });
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const openSession = async () => {
    const session = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, session),
    });
    await createBareTools().connect(session);
    return session;
  };
  const listen = getRequestListener(async (request) => {
    const parsedBody: unknown = await request.json();
    if (!(await isLegacyRequest(request, parsedBody))) return modern.fetch(request, { parsedBody });
    const known = sessions.get(request.headers.get("mcp-session-id") ?? "");
    return (known ?? (await openSession())).handleRequest(request, { parsedBody });
  });
  const server = createServer((request, response) => void listen(request, response));
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo;
    console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }));
  });
}

if (transport === "http") serveHttp();
else serveStdio(createBareTools);
