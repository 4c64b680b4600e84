import { createMCPClient, ElicitationRequestSchema } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as StdioTransport } from "@ai-sdk/mcp/mcp-stdio";
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import {
  closeCleanly,
  connectV1,
  describeCommand,
  describeHeaders,
  readResult,
  record,
  type ClientSetup,
} from "../../support/mcp-clients.ts";
import { createEmptyFolder } from "../../support/folders.ts";
import type { Seat } from "./mcp-flow.ts";

/** Wraps other vendors' clients in the interface that the tests use for the official clients. */

type OtherClient = Seat & { readonly [Symbol.asyncDispose]: () => Promise<void> };

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const inspector = require.resolve("@modelcontextprotocol/inspector-cli/build/cli.js");
const bridge = require.resolve("mcp-remote/dist/proxy.js");

/** Connects the AI SDK's client for Node 20, which supports only revisions before 2026-07-28. */
export async function connectAiSdk(given: ClientSetup): Promise<OtherClient> {
  const { elicit } = given;
  const { transport, readProcess } = openTransport(given);
  const client = await createMCPClient({
    transport,
    capabilities: elicit === undefined ? {} : { elicitation: {} },
  });
  if (elicit !== undefined) {
    client.onElicitationRequest(ElicitationRequestSchema, ({ params }) => elicit(params.message));
  }
  return {
    listNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    callTool: async (name, args = {}) => {
      // A model may call a tool that is no longer listed.
      const tools = [{ name, inputSchema: { type: "object" as const } }];
      const tool = client.toolsFromDefinitions({ tools })[name];
      if (tool === undefined) throw new Error(`the AI SDK makes no tool of ${name}`);
      return readResult(await tool.execute(args, { toolCallId: name, messages: [] }));
    },
    [Symbol.asyncDispose]: closeCleanly(client, readProcess?.()),
  };
}

function openTransport(given: ClientSetup) {
  if (given.transport === "http") {
    const headers = describeHeaders(given);
    return { transport: { type: "http", url: given.url, headers } as const };
  }
  const transport = new StdioTransport(describeCommand(given));
  return { transport, readProcess: record(transport, "process") };
}

/** Wraps the inspector's command line, which starts a process for each call and has no forms. */
export function openInspector({ url, token }: ClientSetup & { readonly transport: "http" }): Seat {
  const target = [url, "--header", `Authorization: Bearer ${token}`];

  // `--cli` starts the program that later calls run directly.
  let start: readonly string[] = [inspector, "--cli"];
  async function ask(method: string, words: readonly string[] = []) {
    const args = [...start, ...target, "--method", method, ...words];
    start = [join(dirname(inspector), "index.js")];
    const { stdout } = await run(process.execPath, args, {
      env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
      maxBuffer: 16 * 1024 * 1024,
    });
    return JSON.parse(stdout);
  }
  return {
    listNames: async () => {
      const { tools } = await ask("tools/list");
      return tools.map(({ name }: { readonly name: string }) => name);
    },
    callTool: async (name, args = {}) => {
      const pairs = Object.entries(args).map(([field, value]) => `${field}=${String(value)}`);
      const given = pairs.length === 0 ? [] : ["--tool-arg", ...pairs];
      return readResult(await ask("tools/call", ["--tool-name", name, ...given]));
    },
  };
}

/** Connects a stdio client through mcp-remote, which forwards to a server over HTTP. */
export async function connectThroughBridge(
  given: ClientSetup & { readonly transport: "http" },
): Promise<OtherClient> {
  const { url, token, elicit } = given;
  const folder = await createEmptyFolder();
  const client = await connectV1({
    transport: "stdio",
    program: bridge,
    words: [url, "--header", `Authorization: Bearer ${token}`, "--transport", "http-only"],
    // By default, mcp-remote writes to the home folder.
    env: { MCP_REMOTE_CONFIG_DIR: folder.path },
    ...(elicit !== undefined && { elicit }),
  });
  return {
    ...client,
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}
