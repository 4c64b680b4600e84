import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle, bundledPackages } from "./bundle.js";
import { bundleReaderThread } from "./bundle-reader-thread.js";
import { buildConsoleFiles } from "./console-files.js";
import { deferred, late } from "./deferred.js";
import { writeLicenseNotices } from "./license-notices.js";
import { packagedSqlite, vendorSqlite } from "./vendor-sqlite.js";
import { writeDocs } from "./write-docs.js";

/** Writes everything that runs into `dist`, with all packages in it. */

const { version, engines } = JSON.parse(readFileSync("package.json", "utf8"));
const oldestNode = /\d+\.\d+/.exec(engines.node)[0].split(".").map(Number);

// File systems that keep whole seconds round down.
const startedAt = Math.floor(Date.now() / 1000) * 1000;

await build({
  entryPoints: ["src/entry.ts"],
  outfile: "dist/waypost.js",
  platform: "node",
  target: "es2018",
  supported: { "import-meta": true },
  format: "esm",
  banner: { js: "#!/usr/bin/env node" },
  minifyWhitespace: true,
  minifySyntax: true,
  define: { WAYPOST_NODE: JSON.stringify(oldestNode) },
  logLevel: "warning",
});

await bundle({
  entryPoints: ["src/start/start-program.ts"],
  outfile: "dist/start.cjs",
  format: "cjs",
  banner: {},
  define: { "import.meta.dirname": "__dirname" },
});

await bundleReaderThread();
await vendorSqlite();
await buildConsoleFiles((await runSource(new URL("./console-look.ts", import.meta.url))).look);

writeFileSync(
  "dist/openapi.json",
  (await runSource(new URL("./published-api.ts", import.meta.url))).description,
);

const program = "dist/program.js";
await bundle({
  entryPoints: ["src/main.ts"],
  outfile: program,
  // One function, which compiled-program.ts calls.
  format: "cjs",
  banner: { js: "(function (require, programUrl, keepCompiled) {" },
  footer: { js: "})" },
  define: {
    ...packagedSqlite,
    "import.meta.url": "programUrl",
    WAYPOST_DOCS: JSON.stringify("docs/"),
    WAYPOST_VERSION: JSON.stringify(version),
    WAYPOST_SCHEMAS: JSON.stringify(
      (await runSource(new URL("./published-schemas.ts", import.meta.url))).schemas,
    ),
  },
  alias: {
    // The SDK would load a validator for JSON Schema, which Waypost replaces.
    "@modelcontextprotocol/server/_shims": "./test/tools/sdk-shims.js",
  },
  plugins: [
    deferred({
      "node:console": ["Console"],
      "node:dns/promises": ["lookup"],
      "node:fs/promises": [
        ..."access chmod copyFile link lstat mkdir open readdir".split(" "),
        ..."readFile realpath rename rm stat".split(" "),
      ],
      "node:http": ["createServer", "request"],
      "node:readline": ["createInterface"],
      "node:stream/promises": ["pipeline"],
      "node:timers/promises": ["setImmediate", "setTimeout"],
      "node:worker_threads": ["Worker"],
      "node:zlib": ["crc32", "createGunzip", "createGzip", "deflateSync", "gzip", "gzipSync"],
      "@hono/node-server": ["getRequestListener"],
      diff: ["diffWordsWithSpace", "structuredPatch"],
      isbot: ["isbot", "isbotPatterns"],
      "jsonc-parser": ["applyEdits", "findNodeAtLocation", "modify", "parse", "parseTree"],
      pg: ["Pool", "Query"],
      pino: ["destination", "pino"],
      "smol-toml": ["parse", "stringify"],
      undici: ["Agent", "buildConnector"],
    }),
    late(["css-tree", "liquidjs", "maxmind", "parse5", "prom-client", "uqr"]),
  ],
});

signProgram();
writeDocs(
  "docs",
  "dist/docs",
  (await runSource(new URL("./api-pages.ts", import.meta.url))).writeApiPages(),
);
writeLicenseNotices("dist/THIRD-PARTY-LICENSES.txt", bundledPackages);

removeStale();

/** Files of an earlier build, which would get into the package. */
function removeStale() {
  const paths = readdirSync("dist", { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  for (const path of paths) if (statSync(path).mtimeMs < startedAt) rmSync(path);
}

/** Compiled code belongs to exactly this program text. */
function signProgram() {
  // esbuild does not escape characters in regular expressions.
  const text = readFileSync(program, "utf8").replace(/[^\0-\x7f]/g, escapeUnit);
  const digest = createHash("sha256").update(text).digest("hex").slice(0, 16);
  writeFileSync(program, `//${digest}\n${text}`);
}

function escapeUnit(unit) {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Runs a file of this folder with the source that it imports, and returns its exports. */
async function runSource(file) {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(file)],
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
  });
  const code = Buffer.from(outputFiles[0].contents).toString("base64");
  return import(`data:text/javascript;base64,${code}`);
}
