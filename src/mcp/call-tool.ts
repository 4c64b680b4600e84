import type { CallToolResult } from "@modelcontextprotocol/server";
import { CallFailure } from "../client/failure.ts";
import type { Endpoint, Input, Output } from "../contract/endpoint.ts";
import { Problem, unauthorized } from "../contract/problem.ts";
import { advise } from "./advice.ts";
import type { Gate } from "./approval/gate.ts";
import { PersonAsked, type Person } from "./approval/person.ts";
import { explainCallFailure, explainProblem, ToolFailure, type Failure } from "./failure.ts";
import { describeFault } from "./guard.ts";
import { makeInert } from "./inert.ts";
import type { JsonObject, Surface, Tool } from "./tool.ts";

export type CallContext = {
  readonly surface: Surface;
  readonly gate: Gate;
  readonly person: Omit<Person, "token">;
  readonly signal: AbortSignal;
  /** Notes an unexpected error where the operator looks, and answers its reference. */
  readonly report: (error: unknown) => string;
};

/**
 * One call of a tool, from what the client sent to what it gets. Nothing leaves but a result, or
 * the question that a person has to answer first.
 */
export async function callTool(
  tool: Tool,
  given: unknown,
  context: CallContext,
): Promise<CallToolResult> {
  try {
    const denied = tool.readAccess(context.surface.access);
    if (denied.state === "denied") throw refuseDenied(tool, denied.reason);
    const args = tool.check(given);
    return present(await runTool(tool, args, context));
  } catch (error) {
    if (error instanceof PersonAsked) throw error;
    if (error instanceof ToolFailure) return fail(error.failure);
    return fail({
      code: "internal",
      message: describeFault(context.report(error)),
      effect: "unknown",
      retry: "now",
      next: advise("internal", { tool: tool.name }),
    });
  }
}

function runTool(tool: Tool, args: JsonObject, context: CallContext): Promise<JsonObject> {
  const { surface, gate, signal } = context;
  const token = args["approval"];
  const person = { ...context.person, token: typeof token === "string" ? token : undefined };
  return tool.run(args, {
    surface,
    signal,
    ask: (endpoint, input) => ask(tool.name, endpoint, input, context),
    approve: (act) => gate.pass(act, surface.key_print, person),
  });
}

async function ask<E extends Endpoint>(
  tool: string,
  endpoint: E,
  input: Input<E>,
  { surface, signal }: CallContext,
): Promise<Output<E>> {
  const { client, access } = surface;
  const asked = { tool, endpoint };
  try {
    const output = await client.call(endpoint, input, signal);
    access.noteGranted(endpoint);
    return output;
  } catch (error) {
    if (error instanceof Problem) {
      if (error.status === 401) access.noteRefused(endpoint, error.message);
      throw new ToolFailure(explainProblem(asked, error));
    }
    if (error instanceof CallFailure) throw new ToolFailure(explainCallFailure(asked, error));
    throw error;
  }
}

/** The reason is the refusal that the deployment gives, or would give. */
function refuseDenied({ name }: Tool, reason: string): ToolFailure {
  return new ToolFailure(explainProblem({ tool: name }, unauthorized(reason)));
}

function fail(error: Failure): CallToolResult {
  return { ...present({ error }), isError: true };
}

/** The same JSON twice: some clients show their model only the one, some only the other. */
function present(result: JsonObject): CallToolResult {
  // What goes in as an object comes out as one.
  const structuredContent = makeInert(result) as Record<string, unknown>;
  return {
    structuredContent,
    content: [{ type: "text", text: JSON.stringify(structuredContent) }],
  };
}
