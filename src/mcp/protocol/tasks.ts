import {
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  type Server,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import type { Job } from "../../state/jobs.ts";
import { describeTask } from "../results/job-task.ts";
import { toCallResult } from "../results/tool-result.ts";
import { showJobPage } from "../tools/bulk/show-job.ts";
import type { HideErrors } from "./hide-errors.ts";
import type { ServerOptions } from "./server-options.ts";

/** Jobs as tasks: one family of methods of the protocol. */

const params = z.object({ taskId: z.string() });

export function serveTasks(server: Server, options: ServerOptions, hideErrors: HideErrors): void {
  const { bulk } = options.keyContext;

  async function find(taskId: string): Promise<Job> {
    const job = await bulk.findJob(taskId, options.keyContext);
    if (job !== undefined) return job;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, "There is no such task.");
  }

  const getTask = async ({ taskId }: z.output<typeof params>): Promise<Result> => {
    const job = await find(taskId);
    const task = describeTask(job);
    if (task.status !== "completed") return task;
    // What the call would have answered, had it waited.
    const shown = { job: await showJobPage(job, bulk) };
    return { ...task, result: toCallResult(shown) };
  };
  const cancelTask = async ({ taskId }: z.output<typeof params>): Promise<Result> => {
    await bulk.cancel(await find(taskId));
    return {};
  };
  // No task of ours ever asks for anything, so there is no answer to take.
  const updateTask = async ({ taskId }: z.output<typeof params>): Promise<Result> => {
    await find(taskId);
    return {};
  };
  server.setRequestHandler("tasks/get", { params }, hideErrors(getTask));
  server.setRequestHandler("tasks/cancel", { params }, hideErrors(cancelTask));
  server.setRequestHandler("tasks/update", { params }, hideErrors(updateTask));
}
