import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { gunzipSync, gzipSync } from "node:zlib";
import { createTableSum } from "../../src/copies/row-digest.ts";

/** A backup's lines as values, for a test that writes them down differently. */
// oxlint-disable-next-line typescript/no-explicit-any
type Line = any;

export async function readBackupLines(file: string): Promise<Line[]> {
  const text = gunzipSync(await readFile(file)).toString();
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** Writes lines with all sums made anew: a file that fits in itself, whatever is in it. */
export async function forgeBackup(file: string, lines: readonly Line[]): Promise<void> {
  const whole = createHash("sha256");
  const texts: string[] = [];
  let sum = createTableSum();
  let rows = 0;
  const put = (value: Line) => {
    const text = JSON.stringify(value);
    texts.push(text);
    whole.update(`${text}\n`);
  };
  for (const line of lines) {
    if (Array.isArray(line)) {
      sum.add(JSON.stringify(line));
      rows += 1;
      put(line);
    } else if (line.digest !== undefined) {
      put(sum.read());
      sum = createTableSum();
    } else if (line.end === undefined) {
      put(line);
    }
  }
  texts.push(JSON.stringify({ end: { rows, sha256: whole.digest("hex") } }));
  await writeFile(file, gzipSync(`${texts.join("\n")}\n`));
}

/** Where the rows of a table begin among the lines. */
export function findTable(lines: readonly Line[], table: string): number {
  return lines.findIndex((line) => line.table === table);
}
