import { bundle } from "./bundle.js";
import { packagedSqlite } from "./vendor-sqlite.js";

/** Bundles the thread for long reads. Node 20 starts no thread from TypeScript. */
export async function bundleReaderThread() {
  await bundle({
    entryPoints: ["src/sql/reader-thread.ts"],
    outfile: "dist/reader-thread.js",
    define: packagedSqlite,
  });
}
