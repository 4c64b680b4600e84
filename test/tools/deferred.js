import { build } from "esbuild";
import { builtinModules } from "node:module";

/**
 * Packages that a session over stdio never uses, as an esbuild plugin: each is loaded when one of
 * its functions is called for the first time. It stands in the bundle as a text, for V8 reads
 * through the functions of a file, called or not, before it runs the first line.
 *
 * @param packages The functions and classes that are used of each package.
 */
export function deferred(packages) {
  const names = Object.keys(packages);
  const filter = new RegExp(`^(${names.join("|")})$`);
  return {
    name: "deferred",
    setup({ onResolve, onLoad }) {
      onResolve({ filter, namespace: "file" }, ({ path, importer }) =>
        /node_modules/.test(importer) ? undefined : { path, namespace: "deferred" },
      );
      onLoad({ filter, namespace: "deferred" }, async ({ path }) => ({
        contents: [await writeLoader(path), ...packages[path].map(writeStandIn)].join("\n"),
        resolveDir: ".",
      }));
    },
  };
}

/** Calls or constructs the real one. */
function writeStandIn(name) {
  return `export function ${name}(...given) {
    return new.target ? Reflect.construct(load().${name}, given) : load().${name}(...given);
  }`;
}

async function writeLoader(name) {
  if (builtinModules.includes(name.replace("node:", ""))) {
    return `const load = () => require(${JSON.stringify(name)});`;
  }
  return `import { compileFunction } from "node:vm";
    const text = ${JSON.stringify(await writeText(name))};
    let loaded;
    function load() {
      if (loaded === undefined) {
        const module = { exports: {} };
        const run = compileFunction(text, ["module", "require"], { filename: "${name}" });
        run(module, require);
        loaded = module.exports;
      }
      return loaded;
    }`;
}

async function writeText(name) {
  const { outputFiles } = await build({
    stdin: { contents: `module.exports = require(${JSON.stringify(name)});`, resolveDir: "." },
    bundle: true,
    write: false,
    platform: "node",
    target: "node20.18",
    format: "cjs",
    minifyWhitespace: true,
    minifySyntax: true,
  });
  return outputFiles[0].text;
}
