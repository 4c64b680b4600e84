import { bundle } from "./bundle.js";

/**
 * Bundles what the thread of long reads runs. It is the one part that is built for tests of the
 * source as well, for Node 20 starts no thread from TypeScript: vitest calls it by this name.
 */
export async function setup() {
  await bundle({
    entryPoints: ["src/sql/reader-thread.ts"],
    outfile: "dist/reader-thread.js",
    external: ["@photostructure/sqlite"],
  });
}
