/**
 * What the SDK takes from its surroundings, for the bundle: without the validator, which is a
 * third of the SDK. Our servers bring their own (mcp/protocol/server.ts), so nobody asks for it.
 */

export { default as process } from "node:process";

export function DefaultJsonSchemaValidator() {
  throw new Error("the bundle has no validator of JSON Schema of its own");
}
