import type { JsonObject } from "../../contract/json.ts";
import { once } from "../schemas/once.ts";
import type { Tool } from "./tool.ts";

/**
 * The tools' JSON Schemas, which the build has written already (test/tools/build.js): writing them
 * is a good part of a start. Where the source runs by itself there are none, and each is written
 * when it is asked for.
 */
declare const WAYPOST_SCHEMAS: string;

type Schemas = Readonly<Record<"full" | "terse" | "output", JsonObject>>;

/** The same tools, with the schemas that the build has written. */
export function takeBuiltSchemas(tools: readonly Tool[]): readonly Tool[] {
  if (typeof WAYPOST_SCHEMAS === "undefined") return tools;
  // The build wrote it with `writeBuiltSchemas`.
  const read = once(() => JSON.parse(WAYPOST_SCHEMAS) as Readonly<Record<string, Schemas>>);
  return tools.map((tool) => ({
    ...tool,
    inputSchema: (isTerse) =>
      read()[tool.name]?.[isTerse ? "terse" : "full"] ?? tool.inputSchema(isTerse),
    outputSchema: () => read()[tool.name]?.output ?? tool.outputSchema(),
  }));
}

/** What the build writes, of all tools. */
export function writeBuiltSchemas(tools: readonly Tool[]): string {
  const schemas = tools.map((tool) => [tool.name, readSchemas(tool)]);
  return JSON.stringify(Object.fromEntries(schemas));
}

function readSchemas({ inputSchema, outputSchema }: Tool): Schemas {
  return { full: inputSchema(false), terse: inputSchema(true), output: outputSchema() };
}
