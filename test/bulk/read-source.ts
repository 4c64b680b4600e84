import { readRows, type RowSource } from "../../src/bulk/rows/read-rows.ts";
import type { PlanOperation } from "../../src/state/plans.ts";
import { drain } from "./streams.ts";

/** Reads a whole source and returns its rows and findings. */
export async function readSource(source: RowSource, operation: PlanOperation = "upsert") {
  const { rows: reading, listFindings } = readRows(source, operation);
  const rows = await drain(reading);
  const findings = listFindings();
  const problems = [...findings.problems, ...rows.flatMap((row) => row.problems)];
  return { rows, findings: { ...findings, problems } };
}
