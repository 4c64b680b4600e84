/**
 * Replaces the parts of the SDK that depend on the platform, for the bundle: without the validator,
 * a third of the SDK, because Waypost's servers use their own (mcp/protocol/server.ts).
 */

export { default as process } from "node:process";

export function DefaultJsonSchemaValidator() {
  throw new Error("the bundle has no validator of JSON Schema of its own");
}
