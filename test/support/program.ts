import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../tools/bundle.js";

/** A program of a test's own, as one file that Node runs. */
export type Program = {
  readonly file: string;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** Beside the installed packages, among which it looks for the one with native code. */
const folder = join(import.meta.dirname, "../../.report");

export async function buildProgram(source: URL): Promise<Program> {
  const file = join(folder, `program-${randomUUID()}.mjs`);
  await bundle({
    entryPoints: [fileURLToPath(source)],
    outfile: file,
    external: ["@photostructure/sqlite"],
  });
  return { file, [Symbol.asyncDispose]: () => rm(file, { force: true }) };
}
