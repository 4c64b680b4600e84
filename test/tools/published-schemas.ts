import { createToolbox, writeBuiltSchemas } from "../../src/mcp/tools/toolbox.ts";

/** The tools' JSON Schemas as the source writes them; the build includes them. */
export const schemas = writeBuiltSchemas(createToolbox({ mode: "guarded", selection: [] }).tools);
