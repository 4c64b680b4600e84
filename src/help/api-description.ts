import { readFile } from "node:fs/promises";
import { docsFolder } from "./help-topics.ts";

/** The OpenAPI document of the REST API, which the build writes from the contract. */
export function readApiDescription(): Promise<string> {
  return readFile(new URL("../openapi.json", docsFolder), "utf8");
}
