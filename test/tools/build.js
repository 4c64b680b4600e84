import { readFileSync } from "node:fs";
import { bundle } from "./bundle.js";
import { deferred } from "./deferred.js";

/** Bundles the command into one file; what brings native code stays a package of its own. */

const { version } = JSON.parse(readFileSync("package.json", "utf8"));

await bundle({
  entryPoints: ["src/main.ts"],
  outfile: "dist/waypost.js",
  external: ["@photostructure/sqlite"],
  define: { WAYPOST_VERSION: JSON.stringify(version) },
  // The SDK loads a validator of JSON Schema with it, which we have our own ways for.
  alias: { "@modelcontextprotocol/server/_shims": "./test/tools/sdk-shims.js" },
  plugins: [
    deferred({
      "node:http": ["createServer"],
      "@hono/node-server": ["getRequestListener"],
      pino: ["destination", "pino"],
      undici: ["Agent", "buildConnector"],
    }),
  ],
});
