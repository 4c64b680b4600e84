import { createToolbox, writeBuiltSchemas } from "../../src/mcp/tools/toolbox.ts";

/** The tools' JSON Schemas, as the source itself writes them; the build takes them over. */
export const schemas = writeBuiltSchemas(createToolbox({ mode: "guarded", selection: [] }).tools);
