import {
  ProtocolError,
  ProtocolErrorCode,
  type ClientCapabilities,
  type Result,
  type Server,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import type { Job } from "../state/jobs.ts";
import { readOwner } from "./bulk-tool.ts";
import { present } from "./call-tool.ts";
import type { Guard } from "./guard.ts";
import { presentJobPage } from "./present-bulk.ts";
import type { ServerOptions } from "./server.ts";

/**
 * The protocol's extension for calls that take longer than a call should: whoever declares it gets
 * the job as a task, and asks for that instead of calling a tool again and again.
 */
export const tasksExtension = "io.modelcontextprotocol/tasks";

const pollInterval_ms = 2000;
const params = z.object({ taskId: z.string() });

export type Task = {
  readonly taskId: string;
  readonly status: "working" | "completed" | "cancelled";
  readonly statusMessage: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Jobs are kept for a month, which is longer than anybody asks. */
  readonly ttlMs: null;
  readonly pollIntervalMs: number;
};

export function canTakeTasks({ extensions }: ClientCapabilities): boolean {
  return extensions?.[tasksExtension] !== undefined;
}

export function describeTask({ id, state, counts, created_at, updated_at }: Job): Task {
  const { done, rejected, unknown, left } = counts;
  return {
    taskId: id,
    // A job that was interrupted has ended as a task: its result says how to go on.
    status: statuses[state],
    statusMessage: `${done} done, ${rejected} rejected, ${unknown} unknown, ${left} left.`,
    createdAt: new Date(created_at).toISOString(),
    lastUpdatedAt: new Date(updated_at).toISOString(),
    ttlMs: null,
    pollIntervalMs: pollInterval_ms,
  };
}

const statuses = {
  running: "working",
  done: "completed",
  interrupted: "completed",
  cancelled: "cancelled",
} as const;

export function serveTasks(server: Server, options: ServerOptions, guard: Guard): void {
  const { bulk } = options.surface;

  async function find(taskId: string): Promise<Job> {
    const job = await bulk.findJob(taskId, readOwner(options));
    if (job !== undefined) return job;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, "There is no such task.");
  }

  const getTask = async ({ taskId }: z.output<typeof params>): Promise<Result> => {
    const job = await find(taskId);
    const task = describeTask(job);
    if (task.status !== "completed") return task;
    // What the call would have answered, had it waited.
    const shown = { job: await presentJobPage(job, bulk) };
    return { ...task, result: present(shown) };
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
  server.setRequestHandler("tasks/get", { params }, guard(getTask));
  server.setRequestHandler("tasks/cancel", { params }, guard(cancelTask));
  server.setRequestHandler("tasks/update", { params }, guard(updateTask));
}
