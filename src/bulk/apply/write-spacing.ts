import { countPlannedWrites, type Plan } from "../../state/plans.ts";

/** How fast rows are done: evenly, and just under six hundred writes a minute. */
export const spacings_ms = {
  write: 102,
  /** No rate limit counts deletions, so their speed is limited here. */
  delete: 200,
} as const;

export function estimateSeconds(counts: Pick<Plan["counts"], "create" | "update" | "delete">) {
  const writes = counts.create + counts.update;
  return Math.ceil((writes * spacings_ms.write + counts.delete * spacings_ms.delete) / 1000);
}

/** Of the plan's time, the share of so many of its rows. */
export function estimatePart(counts: Plan["counts"], rows: number): number {
  return Math.ceil((estimateSeconds(counts) * rows) / Math.max(countPlannedWrites(counts), 1));
}
