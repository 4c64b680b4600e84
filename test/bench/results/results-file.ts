import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format as formatMarkdown } from "prettier";
import { isMet, type Row, type Target } from "./finding.ts";

/**
 * RESULTS.md: one table of all figures and one of the runs that they are from. A run writes the
 * rows of its own scenarios anew, and leaves those of the others as they are.
 */

/** One scenario's part of a run. */
export type Outcome = {
  readonly scenario: string;
  readonly rows: readonly Row[];
  readonly run: Readonly<Record<(typeof runHeads)[number], string>>;
};

const resultsFile = fileURLToPath(new URL("../RESULTS.md", import.meta.url));

const figureHeads = [
  "scenario",
  "what",
  "unit",
  "this commit",
  "rounds",
  "before",
  "this / before",
  "target",
  "met",
] as const;
const runHeads = ["this", "before", "rounds", "machine", "versions", "load", "when"] as const;

const introduction = `# What was measured

\`npm run bench\` writes this file (\`test/bench\`); \`npm run bench -- NAME…\` measures single
scenarios and writes their rows anew. A figure is the median of the rounds, with the least and the
greatest behind it. Both commits and the bare servers take turns within each round, and
\`this / before\` is the median of the rounds' ratios. CPU is the server's, for each request.
`;

export async function keepResults(outcome: Outcome, order: readonly string[]): Promise<void> {
  const text = existsSync(resultsFile) ? readFileSync(resultsFile, "utf8") : "";
  writeFileSync(resultsFile, await mergeResults(text, outcome, order));
}

/** The file with this outcome in it; scenarios that are no more lose their rows. */
export async function mergeResults(
  text: string,
  { scenario, rows, run }: Outcome,
  order: readonly string[],
): Promise<string> {
  const [figures = [], runs = []] = readTables(text);
  const keep = (kept: readonly Cells[], own: readonly Cells[]) =>
    order.flatMap((name) => {
      return name === scenario ? own : kept.filter(([owner]) => owner === name);
    });
  const ownFigures = rows.map((row) => [scenario, ...writeFigure(row)]);
  const ownRun = [scenario, ...runHeads.map((head) => run[head])];
  const parts = [
    introduction,
    "## Figures",
    "",
    writeTable(figureHeads, keep(figures, ownFigures)),
    "",
    "## Runs",
    "",
    writeTable(["scenario", ...runHeads], keep(runs, [ownRun])),
  ];
  return formatMarkdown(parts.join("\n"), { parser: "markdown", printWidth: 100 });
}

type Cells = readonly string[];

function readTables(text: string): readonly (readonly Cells[])[] {
  return text
    .split(/^## .*$/m)
    .slice(1)
    .map((part) => {
      const lines = part.split("\n").filter((line) => line.startsWith("|"));
      // Behind the heads and the line below them.
      return lines.slice(2).map((line) => line.split("|").slice(1, -1).map(trim));
    });
}

function writeTable(heads: Cells, rows: readonly Cells[]): string {
  const lines = [heads, heads.map(() => "-"), ...rows];
  return lines.map((cells) => `| ${cells.map(clean).join(" | ")} |`).join("\n");
}

function writeFigure(row: Row): Cells {
  const { what, unit, value, range, before, ofBefore, target } = row;
  const [least, most] = range;
  const met = isMet(row);
  return [
    what,
    unit,
    formatNumber(value),
    least === most ? "" : `${formatNumber(least)} to ${formatNumber(most)}`,
    formatNumber(before),
    formatNumber(ofBefore),
    target === undefined ? "" : describeTarget(target),
    met === undefined ? "" : met ? "yes" : "**no**",
  ];
}

function describeTarget({ most, least, mostOfBefore, leastOfBefore }: Target): string {
  return [
    ...(most === undefined ? [] : [`≤ ${formatNumber(most)}`]),
    ...(least === undefined ? [] : [`≥ ${formatNumber(least)}`]),
    ...(mostOfBefore === undefined ? [] : [`≤ ${mostOfBefore} × before`]),
    ...(leastOfBefore === undefined ? [] : [`≥ ${leastOfBefore} × before`]),
  ].join(", ");
}

/** Three digits are enough for anything that was measured; whole numbers stay whole. */
export function formatNumber(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value) || value >= 100) return Math.round(value).toLocaleString("en");
  return value.toFixed(value < 10 ? 2 : 1);
}

/** A bar would end its cell. */
function clean(text: string): string {
  return text.replaceAll("|", "/");
}

function trim(text: string): string {
  return text.trim();
}
