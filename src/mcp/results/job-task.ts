import type { ClientCapabilities } from "@modelcontextprotocol/server";
import type { Job } from "../../state/jobs.ts";

/**
 * The protocol's extension for calls that take longer than a call should: a client that declares
 * it gets the job as a task, and asks for that instead of calling a tool again and again.
 */
export const tasksExtension = "io.modelcontextprotocol/tasks";

const pollInterval_ms = 2000;

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
