import {
  MissingRequiredClientCapabilityError,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import type { Job } from "../../state/jobs.ts";
import { canTakeTasks, describeTask, tasksExtension } from "../results/job-task.ts";
import { toCallResult } from "../results/tool-result.ts";
import { showJobPage } from "../tools/bulk/jobs.ts";
import { readCaller } from "./caller.ts";
import { explainActed, refuseParams, type HideErrors } from "./protocol-errors.ts";
import type { ServerOptions } from "./server-options.ts";

/** Jobs as tasks: one family of methods of the protocol. */

const params = z.object({ taskId: z.string() });
type Params = z.output<typeof params>;

export function serveTasks(server: Server, options: ServerOptions, hideErrors: HideErrors): void {
  const { bulk } = options.keyContext;

  async function find({ taskId }: Params): Promise<Job> {
    const job = await bulk.findJob(taskId, options.keyContext);
    if (job === undefined) throw refuseParams("This task does not exist.");
    return job;
  }

  const getTask = async (given: Params) => {
    const job = await find(given);
    const task = describeTask(job);
    if (task.status !== "completed") return task;
    // What the call would have answered, had it waited.
    return { ...task, result: toCallResult({ job: await showJobPage(job, bulk) }) };
  };
  const cancelTask = async (given: Params) => {
    const job = await find(given);
    await bulk.cancel(job).catch((error: unknown) => {
      throw explainActed("tasks/cancel", error);
    });
    return {};
  };
  // No task of ours ever asks for anything, so there is no answer to take.
  const updateTask = async (given: Params) => {
    await find(given);
    return {};
  };
  type Answer = (given: Params) => Promise<Record<string, unknown>>;
  const serve = (method: string, answer: Answer) => {
    const guarded = (given: Params, { mcpReq }: ServerContext) => {
      const { capabilities } = readCaller(server, mcpReq.envelope);
      if (!canTakeTasks(capabilities)) throw refuseUndeclared();
      return answer(given);
    };
    server.setRequestHandler(method, { params }, hideErrors(guarded));
  };
  serve("tasks/get", getTask);
  serve("tasks/cancel", cancelTask);
  serve("tasks/update", updateTask);
}

/** The extension demands -32021 (SEP-2663), whatever the method would have answered. */
export function refuseUndeclared(): MissingRequiredClientCapabilityError {
  const requiredCapabilities = { extensions: { [tasksExtension]: {} } };
  return new MissingRequiredClientCapabilityError({ requiredCapabilities });
}
