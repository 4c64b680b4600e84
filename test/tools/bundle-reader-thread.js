import { bundle } from "./bundle.js";
import { packagedSqlite } from "./vendor-sqlite.js";

/**
 * Bundles what the thread of long reads runs. Tests of the source use it as well, because Node 20
 * starts no thread from TypeScript.
 */
export async function bundleReaderThread() {
  await bundle({
    entryPoints: ["src/sql/reader-thread.ts"],
    outfile: "dist/reader-thread.js",
    define: packagedSqlite,
  });
}
