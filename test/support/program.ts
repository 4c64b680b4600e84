import { randomUUID } from "node:crypto";
import { copyFile, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../tools/bundle.js";

/** A program of a test's own, as one file that Node runs. */
export type Program = {
  readonly file: string;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

const root = join(import.meta.dirname, "../..");

export async function buildProgram(source: URL): Promise<Program> {
  // Beside the installed packages, among which it looks for the one with native code.
  const folder = join(root, ".report", `program-${randomUUID()}`);
  const file = join(folder, "program.mjs");
  await mkdir(folder, { recursive: true });
  // Of what the build makes, a program looks for this beside itself.
  await copyFile(join(root, "dist/reader-thread.js"), join(folder, "reader-thread.js"));
  await bundle({
    entryPoints: [fileURLToPath(source)],
    outfile: file,
    external: ["@photostructure/sqlite"],
  });
  return { file, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
