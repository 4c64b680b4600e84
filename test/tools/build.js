import { build } from "esbuild";
import { readFileSync } from "node:fs";

/** Bundles the command into one file; what brings native code stays a package of its own. */

const { version } = JSON.parse(readFileSync("package.json", "utf8"));

await build({
  entryPoints: ["src/main.ts"],
  outfile: "dist/waypost.js",
  bundle: true,
  platform: "node",
  target: "node20.18",
  format: "esm",
  external: ["@photostructure/sqlite"],
  define: { WAYPOST_VERSION: JSON.stringify(version) },
  // Bundled CommonJS packages ask for Node's own modules with require.
  banner: {
    js: `#!/usr/bin/env node
import { createRequire as createBundleRequire } from "node:module";
const require = createBundleRequire(import.meta.url);`,
  },
  logLevel: "warning",
});
