import { writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { dirname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { buildAndList } from "./bundle.js";

/** Splits off rarely used packages, because V8 scans a whole file before its first line. */

/**
 * Loads each package when one of its functions is called for the first time.
 *
 * @param packages The functions and classes that are used of each package.
 */
export function deferred(packages) {
  return standIn("deferred", Object.keys(packages), (name) => packages[name].map(writeStandIn));
}

/**
 * Loads each package with the module that imports it, which must itself be loaded late.
 *
 * @param names The packages.
 */
export function late(names) {
  return standIn("late", names, async (name) => Object.keys(await import(name)).map(writeExport));
}

function standIn(name, packages, listExports) {
  const filter = new RegExp(`^(${packages.join("|")})$`);
  const files = new Map();
  return {
    name,
    setup({ initialOptions, onResolve, onLoad, onEnd }) {
      onResolve({ filter, namespace: "file" }, ({ path, importer }) =>
        /node_modules/.test(importer) ? undefined : { path, namespace: name },
      );
      onLoad({ filter, namespace: name }, async ({ path }) => ({
        contents: [await writeLoader(path, files), ...(await listExports(path))].join("\n"),
        resolveDir: ".",
      }));
      const folder = dirname(initialOptions.outfile);
      onEnd(async () => {
        for (const [file, bytes] of files) await writeFile(join(folder, file), bytes);
      });
    },
  };
}

function writeExport(name) {
  if (name === "default") return "export default load();";
  return /^[A-Za-z]\w*$/.test(name) ? `export const ${name} = load().${name};` : "";
}

function writeStandIn(name) {
  return `export function ${name}(...given) {
    return new.target ? Reflect.construct(load().${name}, given) : load().${name}(...given);
  }`;
}

async function writeLoader(name, files) {
  if (builtinModules.includes(name.replace("node:", ""))) {
    return `const load = () => require(${JSON.stringify(name)});`;
  }
  const file = `${name.replace(/^@/, "").replace("/", "-")}.br`;
  files.set(file, pack(await writeText(name)));
  return `let loaded;
    function load() {
      loaded ??= run();
      return loaded;
    }
    function run() {
      const { readFileSync } = require("node:fs");
      const { compileFunction } = require("node:vm");
      const { brotliDecompressSync } = require("node:zlib");
      const packed = readFileSync(new URL("${file}", import.meta.url));
      const text = brotliDecompressSync(packed).toString();
      const module = { exports: {} };
      compileFunction(text, ["module", "require"], { filename: "${name}" })(module, require);
      return module.exports;
    }`;
}

function pack(text) {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
  return brotliCompressSync(text, { params });
}

/** The main files of these packages load other files, which a bundle does not have. */
const alias = {
  "css-tree": "css-tree/dist/csstree.esm",
  "jsonc-parser": "jsonc-parser/lib/esm/main.js",
};

async function writeText(name) {
  const { outputFiles } = await buildAndList({
    stdin: { contents: `module.exports = require(${JSON.stringify(name)});`, resolveDir: "." },
    bundle: true,
    write: false,
    platform: "node",
    target: "node20.19",
    format: "cjs",
    alias,
    minifyWhitespace: true,
    minifySyntax: true,
  });
  return outputFiles[0].text;
}
