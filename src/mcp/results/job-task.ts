import type { ClientCapabilities } from "@modelcontextprotocol/server";
import type { Job } from "../../state/jobs.ts";

/**
 * The protocol's extension for calls that take long. A client with this extension gets a job as a
 * task and polls the task instead of calling a tool repeatedly.
 */
export const tasksExtension = "io.modelcontextprotocol/tasks";

export type JobTask = {
  readonly taskId: string;
  readonly status: "working" | "completed" | "cancelled";
  readonly statusMessage: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Null means no limit. Jobs are kept for a month, longer than a client polls one. */
  readonly ttlMs: null;
  readonly pollIntervalMs: number;
};

export function canTakeTasks({ extensions }: ClientCapabilities): boolean {
  return extensions?.[tasksExtension] !== undefined;
}

export function describeTask({ id, state, counts, created_at, updated_at }: Job): JobTask {
  const { done, rejected, unknown, left } = counts;
  return {
    taskId: id,
    status: statuses[state],
    statusMessage: `${done} done, ${rejected} rejected, ${unknown} unknown, ${left} left.`,
    createdAt: new Date(created_at).toISOString(),
    lastUpdatedAt: new Date(updated_at).toISOString(),
    ttlMs: null,
    pollIntervalMs: 2000,
  };
}

const statuses = {
  running: "working",
  done: "completed",
  // Completed as a task, because its result says how to resume the job.
  interrupted: "completed",
  cancelled: "cancelled",
} as const;
