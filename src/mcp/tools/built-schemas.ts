import type { JsonObject } from "../../contract/json.ts";
import type { Mode } from "../approval/mode.ts";
import { once } from "../schemas/once.ts";
import type { Tool } from "./tool.ts";

/**
 * The tools' JSON Schemas, which the build has written already (test/tools/build.js): writing them
 * is a good part of a start. Where the source runs by itself there are none, and each is written
 * when it is asked for.
 */
declare const WAYPOST_SCHEMAS: Readonly<Record<Variant, string>>;

/** Only the two-step mode has other arguments. */
const variants = ["two-step", "guarded"] as const;
type Variant = (typeof variants)[number];

type Schemas = Readonly<Record<"full" | "terse" | "output", JsonObject>>;

/** The same tools, with the schemas that the build has written. */
export function takeBuiltSchemas(tools: readonly Tool[], mode: Mode): readonly Tool[] {
  if (typeof WAYPOST_SCHEMAS === "undefined") return tools;
  const text = WAYPOST_SCHEMAS[mode === "two-step" ? mode : "guarded"];
  // The build wrote it with `writeBuiltSchemas`.
  const read = once(() => JSON.parse(text) as Readonly<Record<string, Schemas>>);
  return tools.map((tool) => ({
    ...tool,
    inputSchema: (isTerse) =>
      read()[tool.name]?.[isTerse ? "terse" : "full"] ?? tool.inputSchema(isTerse),
    outputSchema: () => read()[tool.name]?.output ?? tool.outputSchema(),
  }));
}

/** What the build writes, of all tools. */
export function writeBuiltSchemas(
  listTools: (mode: Mode) => readonly Tool[],
): Readonly<Record<Variant, string>> {
  const texts = variants.map((variant) => {
    const schemas = listTools(variant).map((tool) => [tool.name, readSchemas(tool)]);
    return [variant, JSON.stringify(Object.fromEntries(schemas))];
  });
  return Object.fromEntries(texts);
}

function readSchemas({ inputSchema, outputSchema }: Tool): Schemas {
  return { full: inputSchema(false), terse: inputSchema(true), output: outputSchema() };
}
