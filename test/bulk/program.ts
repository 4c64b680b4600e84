import { randomUUID } from "node:crypto";
import { copyFile, mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../tools/bundle.js";
import { packagedSqlite } from "../tools/vendor-sqlite.js";

/** Bundles a test's own program into one file that Node runs. */
export type Program = {
  readonly file: string;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

const root = join(import.meta.dirname, "../..");

export async function buildProgram(source: URL): Promise<Program> {
  const folder = join(root, ".report", `program-${randomUUID()}`);
  const file = join(folder, "program.mjs");
  await mkdir(folder, { recursive: true });
  // The program loads these files from its own folder.
  await copyFile(join(root, "dist/reader-thread.js"), join(folder, "reader-thread.js"));
  await symlink(join(root, "dist/sqlite"), join(folder, "sqlite"), "junction");
  await bundle({
    entryPoints: [fileURLToPath(source)],
    outfile: file,
    define: packagedSqlite,
  });
  return { file, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
