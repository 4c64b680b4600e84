import type { ClientCapabilities } from "@modelcontextprotocol/server";
import type { Job } from "../../state/jobs.ts";

/**
 * The protocol's extension for calls that take long: a client that declares it gets the job as a
 * task, and asks for that instead of calling a tool again and again.
 */
export const tasksExtension = "io.modelcontextprotocol/tasks";

export type Task = {
  readonly taskId: string;
  readonly status: "working" | "completed" | "cancelled";
  readonly statusMessage: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Never told to end: jobs are kept for a month, longer than a client asks for one. */
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
  // Its result says how to go on.
  interrupted: "completed",
  cancelled: "cancelled",
} as const;
