import type { ClientCapabilities } from "@modelcontextprotocol/server";
import type { Job } from "../../state/jobs.ts";

/**
 * The protocol extension for long-running calls. A client that supports it receives a job as a task
 * and polls the task, instead of calling a tool repeatedly.
 */
export const tasksExtension = "io.modelcontextprotocol/tasks";

export type JobTask = {
  readonly taskId: string;
  readonly status: "working" | "completed" | "cancelled";
  readonly statusMessage: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Null means unlimited. Jobs are stored for a month, longer than clients poll. */
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
  // The result of an interrupted job explains how to resume it, so the task counts as completed.
  interrupted: "completed",
  cancelled: "cancelled",
} as const;
