import {
  acceptedContent,
  inputRequired,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { randomUUID } from "node:crypto";
import * as z from "zod";
import { readCaller } from "../../src/mcp/protocol/caller.ts";
import { refuseUndeclared } from "../../src/mcp/protocol/tasks.ts";
import { canTakeTasks } from "../../src/mcp/results/job-task.ts";
import { say, type FixtureCall, type FixtureTool, type Given } from "./fixture.ts";

/**
 * The suite's tools that return a task. Each plans and applies links with the server's own tools,
 * so its task is a real job. Real jobs neither fail as a whole nor ask for input, so tools that
 * must do this change the server's response to `tasks/get`.
 */

type Task = Given;
type Change = (task: Task) => Task;
type Pending = Record<string, unknown>;

const outcomes = new Map<string, Change>();
const pendingInputs = new Map<string, Pending>();

export const toolsWithTasks: readonly FixtureTool[] = [
  { name: "greet", run: ({ name }) => say(`Hello, ${String(name)}!`) },
  { name: "slow_compute", run: ({ seconds }, asked) => startJob(asked, Number(seconds)) },
  {
    name: "failing_job",
    run: (_given, asked) => {
      requireTasks(asked);
      return startJob(asked, 1, (task) => ({
        ...task,
        result: { ...say("This job always fails."), isError: true },
      }));
    },
  },
  {
    name: "protocol_error_job",
    run: (_given, asked) =>
      startJob(asked, 1, (task) => ({
        ...task,
        result: undefined,
        status: "failed",
        error: { code: -32603, message: "This job always fails." },
      })),
  },
  { name: "confirm_delete", run: (_given, asked) => startAsking(asked, ["confirm"]) },
  { name: "multi_input", run: (_given, asked) => startAsking(asked, ["first", "second"]) },
  {
    name: "test_tool_with_task",
    run: (_given, asked) => {
      requireTasks(asked);
      const { inputResponses } = asked.context.mcpReq;
      const given = acceptedContent(inputResponses, "user_name");
      if (given === undefined) return inputRequired({ inputRequests: { user_name: askText() } });
      const result = say(`Hello, ${String(given["name"])}!`);
      return startJob(asked, 1, (task) => ({ ...task, result }));
    },
  },
];

/** Changes the response to `tasks/get` where a fixture's job needs it. */
export function addTaskFixtures(
  server: Server,
  readReal: (method: string) => (params: Given, context: ServerContext) => Promise<Given>,
): void {
  const params = z.looseObject({ taskId: z.string() });
  const getReal = readReal("tasks/get");
  server.setRequestHandler("tasks/get", { params }, async (given, context) => {
    const { result, ...task } = await getReal(given, context);
    const inputRequests = pendingInputs.get(given.taskId) ?? {};
    if (Object.keys(inputRequests).length > 0 && task["status"] !== "cancelled") {
      return { ...task, status: "input_required", inputRequests };
    }
    if (task["status"] !== "completed") return task;
    const ended = { ...task, result };
    return outcomes.get(given.taskId)?.(ended) ?? ended;
  });
  const updateReal = readReal("tasks/update");
  server.setRequestHandler("tasks/update", { params }, async (given, context) => {
    const answer = await updateReal(given, context);
    const responses = given["inputResponses"] ?? context.mcpReq.inputResponses ?? {};
    const pending = pendingInputs.get(given.taskId) ?? {};
    for (const name of Object.keys(responses)) delete pending[name];
    return answer;
  });
}

/** A job writes about ten links a second; twice the time makes sure that it becomes a task. */
async function startJob({ callTool }: FixtureCall, seconds: number, change?: Change) {
  const count = Math.max(1, seconds * 20);
  const label = randomUUID();
  const rows = Array.from({ length: count }, (_, index) => ({ path: `${label}-${index}` }));
  const { structuredContent } = planned.parse(
    await callTool("plan_links", { operation: "upsert", rows }),
  );
  const result = await callTool("apply_plan", { plan_id: structuredContent.plan.id });
  const { taskId } = result;
  if (typeof taskId === "string" && change !== undefined) outcomes.set(taskId, change);
  return result;
}

const planned = z.object({
  structuredContent: z.object({ plan: z.object({ id: z.string() }) }),
});

async function startAsking(asked: FixtureCall, names: readonly string[]) {
  const result = await startJob(asked, 1);
  const requests = Object.fromEntries(names.map((name) => [name, askText()]));
  if (typeof result["taskId"] === "string") pendingInputs.set(result["taskId"], requests);
  return result;
}

function askText() {
  const properties = { name: { type: "string" } } as const;
  return inputRequired.elicit({
    message: "What is your name?",
    requestedSchema: { type: "object", properties },
  });
}

/** For tools that the suite says need a client with tasks. */
function requireTasks({ server, context }: FixtureCall): void {
  const { capabilities } = readCaller(server, context.mcpReq.envelope);
  if (!canTakeTasks(capabilities)) throw refuseUndeclared();
}
