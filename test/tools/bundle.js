import { build } from "esbuild";

/** Bundles a program for the command line into one file. */
export async function bundle(options) {
  await build({
    bundle: true,
    platform: "node",
    target: "node20.19",
    format: "esm",
    // Bundled CommonJS packages ask for Node's own modules with require.
    banner: {
      js: `import { createRequire as createBundleRequire } from "node:module";
const require = createBundleRequire(import.meta.url);`,
    },
    // The names stay, for an operator's log shows where an error came from.
    minifyWhitespace: true,
    minifySyntax: true,
    logLevel: "warning",
    ...options,
  });
}
