import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../../tools/bundle.js";
import { makeFolder } from "../leftovers.ts";

/** Bundles a bare MCP server without Waypost. The bench compares calls with it. */

export type BareResponses = {
  readonly names: readonly string[];
  readonly result: { readonly content: unknown; readonly structuredContent: unknown };
};

/** The arguments that start a bare server, which is bundled into one file like our command. */
export type BareBundle = {
  readonly words: (said: BareResponses) => readonly string[];
  readonly [Symbol.dispose]: () => void;
};

export async function bundleBare(transport: "stdio" | "http"): Promise<BareBundle> {
  const folder = makeFolder();
  const outfile = join(folder.path, "bare.mjs");
  const entry = fileURLToPath(new URL("./bare-mcp.ts", import.meta.url));
  await bundle({ entryPoints: [entry], outfile });
  return {
    words: (said) => [outfile, transport, JSON.stringify(said)],
    [Symbol.dispose]: folder[Symbol.dispose],
  };
}
