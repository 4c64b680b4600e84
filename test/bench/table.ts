import { formatTable } from "../../src/commands/terminal/output.ts";
import type { Figures } from "./measure.ts";

/** One thing that was measured, and what it had to reach. */
export type Row = {
  readonly what: string;
  /** How many links it is about. */
  readonly hits?: number;
  readonly figures: Figures;
  /** Processor time compared with the bare server. */
  readonly ratio?: number;
  readonly target?: Target;
};

type Target = {
  readonly measure: "p50_ms" | "cpu_us" | "ratio";
  readonly limit: number;
};

const heads = ["", "hits", "p50 ms", "p99 ms", "CPU µs", "per s", "ratio", "target", ""];

export function formatRows(rows: readonly Row[]): string {
  return formatTable([heads, ...rows.map(formatRow)]);
}

/** Undefined where nothing was asked. */
export function isMet({ target, ...row }: Row): boolean | undefined {
  return target && readMeasure(row, target) <= target.limit;
}

function formatRow(row: Row): readonly string[] {
  const { what, hits, figures, ratio, target } = row;
  const met = isMet(row);
  return [
    what,
    formatNumber(hits),
    formatNumber(figures.p50_ms),
    formatNumber(figures.p99_ms),
    formatNumber(Math.round(figures.cpu_us)),
    formatNumber(figures.per_second && Math.round(figures.per_second)),
    formatNumber(ratio),
    target === undefined ? "" : `${labels[target.measure]} ≤ ${formatNumber(target.limit)}`,
    met === undefined ? "" : met ? "met" : "MISSED",
  ];
}

const labels = { p50_ms: "p50", cpu_us: "CPU", ratio: "ratio" } as const;

function readMeasure({ figures, ratio }: Omit<Row, "target">, { measure }: Target): number {
  return measure === "ratio" ? (ratio ?? Number.NaN) : figures[measure];
}

/** Three digits are enough for anything that was measured; whole numbers stay whole. */
function formatNumber(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return "";
  const text = Number.isInteger(value)
    ? value.toLocaleString("en")
    : value.toFixed(value < 10 ? 2 : 1);
  return text.padStart(width);
}

const width = 9;
