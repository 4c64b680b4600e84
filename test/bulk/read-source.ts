import { readRows, type RowSource } from "../../src/bulk/rows/read-rows.ts";
import type { PlanOperation } from "../../src/state/plans.ts";
import { drain } from "./streams.ts";

/** A whole source at once: its rows, and what was found out about it. */
export async function readSource(source: RowSource, operation: PlanOperation = "upsert") {
  const { rows, listFindings } = readRows(source, operation);
  return { rows: await drain(rows), findings: listFindings() };
}
