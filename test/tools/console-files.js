import { build } from "esbuild";

/** Bundles the console's scripts and styles. `look` has the styles shared with other pages. */
export async function buildConsoleFiles(look) {
  const options = {
    bundle: true,
    minify: true,
    outdir: "dist/console",
    // The image is built without the tsconfig.json of the repository.
    tsconfigRaw: {},
    logLevel: "warning",
  };
  const scripts = await build({
    ...options,
    entryPoints: ["src/console/browser/page.ts", "src/console/browser/editor.ts"],
    format: "iife",
    target: "es2022",
  });
  const styles = await build({
    ...options,
    entryPoints: ["src/console/styles/page.css", "src/console/styles/editor.css"],
    plugins: [createLookPlugin(look)],
  });
  const warnings = [...scripts.warnings, ...styles.warnings];
  if (warnings.length > 0) throw new Error(`${warnings.length} warnings in the console's files`);
}

/** Resolves `@import "look/page"`. */
function createLookPlugin(look) {
  return {
    name: "look",
    setup(setup) {
      setup.onResolve({ filter: /^look\// }, ({ path }) => ({ path, namespace: "look" }));
      setup.onLoad({ filter: /^/, namespace: "look" }, ({ path }) => {
        return { contents: look[path.replace("look/", "")], loader: "css" };
      });
    },
  };
}
