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

/** Serves the protocol's task methods. A task is a job that applies a plan. */

const params = z.object({ taskId: z.string() });

export function serveTasks(server: Server, options: ServerOptions, hideErrors: HideErrors): void {
  const { keyContext } = options;
  const { bulk } = keyContext;
  const answers: Readonly<Record<string, (job: Job) => Promise<Record<string, unknown>>>> = {
    "tasks/get": async (job) => {
      const task = describeTask(job);
      if (task.status !== "completed") return task;
      // The result that the call would have returned after waiting for the job.
      return { ...task, result: toCallResult({ job: await showJobPage(job, bulk) }) };
    },
    "tasks/cancel": async (job) => {
      await bulk.cancel(job).catch((error: unknown) => {
        throw explainActed("tasks/cancel", error);
      });
      return {};
    },
    // Waypost's tasks never need input, so updates have no effect.
    "tasks/update": () => Promise.resolve({}),
  };
  for (const [method, answer] of Object.entries(answers)) {
    const answerTask = async ({ taskId }: z.output<typeof params>, { mcpReq }: ServerContext) => {
      const { capabilities } = readCaller(server, mcpReq.envelope);
      if (!canTakeTasks(capabilities)) throw refuseUndeclared();
      const job = await bulk.findJob(taskId, keyContext);
      if (job === undefined) throw refuseParams("This task does not exist.");
      return answer(job);
    };
    server.setRequestHandler(method, { params }, hideErrors(answerTask));
  }
}

/** The error that the tasks extension requires for all its methods (-32021, SEP-2663). */
function refuseUndeclared(): MissingRequiredClientCapabilityError {
  const requiredCapabilities = { extensions: { [tasksExtension]: {} } };
  return new MissingRequiredClientCapabilityError({ requiredCapabilities });
}
