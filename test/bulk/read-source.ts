import type { Operation } from "../../src/bulk/check-rows.ts";
import { readRows, type RowSource } from "../../src/bulk/read-rows.ts";
import { drain } from "./streams.ts";

/** A whole source at once: its rows, and what was found out about it. */
export async function readSource(source: RowSource, operation: Operation = "upsert") {
  const { rows, listFindings } = readRows(source, operation);
  return { rows: await drain(rows), findings: listFindings() };
}
