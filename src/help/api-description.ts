import { readFile } from "node:fs/promises";
import { docsFolder } from "./help-topics.ts";

/** Reads the OpenAPI document of the REST API, which the build creates from the contract. */
export function readApiDescription(): Promise<string> {
  return readFile(new URL("../openapi.json", docsFolder), "utf8");
}
