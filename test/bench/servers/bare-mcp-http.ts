import { getRequestListener } from "@hono/node-server";
import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createBareTools } from "./bare-tools.ts";

/** The bare MCP server over HTTP, with sessions for the earlier revisions. */

const modern = createMcpHandler(createBareTools, { legacy: "reject" });
const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();

async function answer(request: Request): Promise<Response> {
  const parsedBody: unknown = await request.json();
  if (!(await isLegacyRequest(request, parsedBody))) return modern.fetch(request, { parsedBody });
  const known = sessions.get(request.headers.get("mcp-session-id") ?? "");
  return (known ?? (await openSession())).handleRequest(request, { parsedBody });
}

async function openSession(): Promise<WebStandardStreamableHTTPServerTransport> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await createBareTools().connect(transport);
  return transport;
}

const listen = getRequestListener(answer);
const server = createServer((request, response) => void listen(request, response));

server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }));
});
