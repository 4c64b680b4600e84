import type {
  CallToolResult,
  JSONRPCRequest,
  RequestMethod,
  Result,
  Server,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { KeyContext } from "../../src/mcp/access/key-context.ts";
import type { FixtureCall, Given } from "./fixture.ts";
import { prompts } from "./prompts.ts";
import { readFixture, resources, templates } from "./resources.ts";
import { tools } from "./tools.ts";
import { addTaskFixtures } from "./tools-with-tasks.ts";

/** Adds the fixtures of the conformance suite to a real server, which handles everything else. */
export function addFixtures(server: Server, keyContext: KeyContext): Server {
  lengthen(
    server,
    "tools/list",
    "tools",
    tools.map(({ name, inputSchema }) => ({
      name,
      description: "For the conformance suite.",
      inputSchema: inputSchema ?? { type: "object" },
    })),
  );
  lengthen(
    server,
    "prompts/list",
    "prompts",
    prompts.map(({ name, takes = [] }) => ({
      name,
      description: "For the conformance suite.",
      arguments: takes.map((argument) => ({ name: argument, required: true })),
    })),
  );
  const description = "For the conformance suite.";
  const described = resources.map((resource) => ({ ...resource, description }));
  lengthen(server, "resources/list", "resources", described);
  lengthen(server, "resources/templates/list", "resourceTemplates", templates);

  const call = readReal(server, "tools/call");
  const makeCall = (context: ServerContext): FixtureCall => ({
    context,
    keyContext,
    server,
    // The result of the real server's `tools/call`.
    callTool: (name, given) => call({ name, arguments: given }, context) as Promise<CallToolResult>,
  });
  extend(server, "tools/call", ({ name, arguments: given = {} }, context) =>
    tools.find((tool) => tool.name === name)?.run(given as Given, makeCall(context)),
  );
  extend(server, "prompts/get", ({ name, arguments: given = {} }, context) =>
    prompts.find((prompt) => prompt.name === name)?.write(given as Given, makeCall(context)),
  );
  extend(server, "resources/read", ({ uri }) => readFixture(String(uri)));
  addTaskFixtures(server, (method) => readReal(server, method));
  return server;
}

/** The real handler of a method, for fixtures that call it. */
function readReal(server: Server, method: string) {
  const real = readHandler(server, method);
  return (params: Given, context: ServerContext) =>
    real({ jsonrpc: "2.0", id: context.mcpReq.id, method, params }, context);
}

type Handler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

/** Answers requests that a fixture handles, and passes all others to the real handler. */
function extend(
  server: Server,
  method: RequestMethod,
  answer: (params: Given, context: ServerContext) => Result | Promise<Result> | undefined,
): void {
  const real = readHandler(server, method);
  setHandler(server, method, async (request, context) => {
    return (await answer(request.params ?? {}, context)) ?? real(request, context);
  });
}

/** Adds rows at the end of a list. */
function lengthen(
  server: Server,
  method: RequestMethod,
  member: string,
  rows: readonly object[],
): void {
  const real = readHandler(server, method);
  setHandler(server, method, async (request, context) => {
    const result = await real(request, context);
    // The result of a list contains its rows under the protocol's name for them.
    return { ...result, [member]: [...(result[member] as readonly object[]), ...rows] };
  });
}

function readHandler(server: Server, method: string): Handler {
  // The SDK exposes this only to its own classes, but a fixture needs the previous handler.
  const { _getRequestHandler } = server as unknown as {
    readonly _getRequestHandler: (method: string) => Handler | undefined;
  };
  const handler = _getRequestHandler.call(server, method);
  if (handler === undefined) throw new Error(`the server does not answer ${method}`);
  return handler;
}

function setHandler(server: Server, method: RequestMethod, handler: Handler): void {
  // The SDK types each handler separately, and checks the result of each itself.
  server.setRequestHandler(method, handler as never);
}
