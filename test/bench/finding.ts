import { formatTable } from "../../src/commands/terminal/output.ts";

/** One number, and what it may be at most. */
export type Finding = {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly limit?: number;
};

export function isExceeded({ value, limit }: Finding): boolean {
  return limit !== undefined && !(value <= limit);
}

export function formatFindings(findings: readonly Finding[]): string {
  return formatTable(findings.map(formatFinding));
}

function formatFinding(finding: Finding): readonly string[] {
  const { what, value, unit, limit } = finding;
  const verdict = isExceeded(finding) ? "MISSED" : "met";
  const wanted = limit === undefined ? [] : [`≤ ${format(limit)}`, verdict];
  return [what, format(value), unit, ...wanted];
}

function format(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 3 : 0 });
}
