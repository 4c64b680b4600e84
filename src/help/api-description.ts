import { readFile } from "node:fs/promises";

/** Set by the build. Where the source runs by itself, the file of the last build is read. */
declare const WAYPOST_DOCS: string;

const file = new URL(
  typeof WAYPOST_DOCS === "undefined" ? "../../dist/openapi.json" : "openapi.json",
  import.meta.url,
);

/** The OpenAPI document of the REST API, which the build writes from the contract. */
export function readApiDescription(): Promise<string> {
  return readFile(file, "utf8");
}
