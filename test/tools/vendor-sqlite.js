import { cpSync, mkdirSync } from "node:fs";
import { bundle } from "./bundle.js";

/** The path from which a program in `dist` loads SQLite. */
export const packagedSqlite = { WAYPOST_SQLITE: JSON.stringify("./sqlite/lib/index.cjs") };

/** Puts SQLite for older Nodes into `dist/sqlite`, so the package needs no install script. */
export async function vendorSqlite() {
  const source = "node_modules/@photostructure/sqlite";
  mkdirSync("dist/sqlite", { recursive: true });
  cpSync(`${source}/prebuilds`, "dist/sqlite/prebuilds", { recursive: true });
  await bundle({
    entryPoints: [`${source}/dist/index.cjs`],
    // The package expects its native code one folder above.
    outfile: "dist/sqlite/lib/index.cjs",
    format: "cjs",
    banner: {},
  });
}
