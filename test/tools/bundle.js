import { build } from "esbuild";

/** The folders of all packages whose code is in a bundle. */
export const bundledPackages = new Set();

export async function buildAndList(options) {
  const result = await build({ ...options, metafile: true });
  for (const file of Object.keys(result.metafile.inputs)) {
    const [folder] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? [];
    if (folder !== undefined) bundledPackages.add(folder);
  }
  return result;
}

export async function bundle(options) {
  await buildAndList({
    bundle: true,
    platform: "node",
    target: "node20.19",
    format: "esm",
    // Bundled CommonJS packages ask for Node's own modules with require.
    banner: {
      js: `import { createRequire as createBundleRequire } from "node:module";
const require = createBundleRequire(import.meta.url);`,
    },
    // Names are kept, so that an operator's log shows where an error came from.
    minifyWhitespace: true,
    minifySyntax: true,
    logLevel: "warning",
    ...options,
  });
}
