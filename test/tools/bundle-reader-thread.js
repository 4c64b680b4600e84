import { bundle } from "./bundle.js";
import { packagedSqlite } from "./vendor-sqlite.js";

/**
 * Bundles the code of the thread for long reads. Tests of the source use it as well, because Node
 * 20 starts no thread from TypeScript.
 */
export async function bundleReaderThread() {
  await bundle({
    entryPoints: ["src/sql/reader-thread.ts"],
    outfile: "dist/reader-thread.js",
    define: packagedSqlite,
  });
}
