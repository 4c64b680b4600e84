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

type Schemas = {
  readonly full: JsonObject;
  readonly terse: JsonObject;
  readonly output: JsonObject;
};

/** The same tools, with the schemas that are there already. */
export function takeBuiltSchemas(tools: readonly Tool[], mode: Mode): readonly Tool[] {
  if (typeof WAYPOST_SCHEMAS === "undefined") return tools;
  const text = WAYPOST_SCHEMAS[mode === "two-step" ? mode : "guarded"];
  // The build wrote it with `writeSchemas`.
  const read = once(() => JSON.parse(text) as Readonly<Record<string, Schemas>>);
  return tools.map((tool) => ({
    ...tool,
    inputSchema: (isTerse) =>
      read()[tool.name]?.[isTerse ? "terse" : "full"] ?? tool.inputSchema(isTerse),
    outputSchema: () => read()[tool.name]?.output ?? tool.outputSchema(),
  }));
}

/** For the build. */
export function writePublished(
  listTools: (mode: Mode) => readonly Tool[],
): Readonly<Record<Variant, string>> {
  const texts = variants.map((variant) => [variant, JSON.stringify(describe(listTools(variant)))]);
  return Object.fromEntries(texts);
}

function describe(tools: readonly Tool[]): Readonly<Record<string, Schemas>> {
  return Object.fromEntries(
    tools.map((tool) => {
      const [full, terse] = [tool.inputSchema(false), tool.inputSchema(true)];
      return [tool.name, { full, terse, output: tool.outputSchema() }];
    }),
  );
}
