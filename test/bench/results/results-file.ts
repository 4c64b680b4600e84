import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format as formatMarkdown } from "prettier";
import { isMet, type ResultRow, type Target } from "./finding.ts";

/** RESULTS.md has a section per scenario: the date of its last run and a table of figures. */

export type BenchRun = {
  readonly scenario: string;
  readonly rows: readonly ResultRow[];
  readonly run: string;
};

const resultsFile = fileURLToPath(new URL("../RESULTS.md", import.meta.url));

const introduction = `# Measured figures

\`npm run bench\` writes this file, and \`npm run bench -- NAME…\` only the sections of the named
scenarios. With \`--postgres\`, scenarios that use SQLite are repeated on PostgreSQL. A figure is
the median of the rounds, followed by the least and the greatest. The command and the bare servers
take turns within each round. CPU is the server's, for each request.`;

export async function keepResults(outcome: BenchRun, order: readonly string[]): Promise<void> {
  const text = existsSync(resultsFile) ? readFileSync(resultsFile, "utf8") : "";
  writeFileSync(resultsFile, await mergeResults(text, outcome, order));
}

/** Returns the file with the new section. Sections of removed scenarios are deleted. */
async function mergeResults(
  text: string,
  { scenario, rows, run }: BenchRun,
  order: readonly string[],
): Promise<string> {
  const heads = ["what", "unit", "value", "rounds", "target", "met"];
  const table = [heads, heads.map(() => "-"), ...rows.map(writeFigure)];
  const lines = table.map((cells) => `| ${cells.join(" | ")} |`);
  const own = [scenario, "", run, "", ...lines].join("\n");
  const sections = [...text.split(/^## /m).slice(1), own];
  const kept = order.flatMap((name) => {
    const section = sections.findLast((one) => one.startsWith(`${name}\n`));
    return section === undefined ? [] : [`## ${section.trim()}`];
  });
  const all = [introduction, ...kept].join("\n\n");
  return formatMarkdown(all, { parser: "markdown", printWidth: 100 });
}

function writeFigure(row: ResultRow): readonly string[] {
  const { what, unit, value, range, target } = row;
  const [least, most] = range;
  const met = isMet(row);
  return [
    what,
    unit,
    formatNumber(value),
    least === most ? "" : `${formatNumber(least)} to ${formatNumber(most)}`,
    target === undefined ? "" : describeTarget(target),
    met === undefined ? "" : met ? "yes" : "**no**",
  ];
}

function describeTarget({ most, least }: Target): string {
  return [
    ...(most === undefined ? [] : [`≤ ${formatNumber(most)}`]),
    ...(least === undefined ? [] : [`≥ ${formatNumber(least)}`]),
  ].join(", ");
}

/** Measured values get three digits. Whole numbers stay whole. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Number.isInteger(value) || value >= 100) return Math.round(value).toLocaleString("en");
  return value.toFixed(value < 10 ? 2 : 1);
}
