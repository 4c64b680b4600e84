/** The SDK's platform parts without its validator, a third of the SDK that is not used here. */

export { default as process } from "node:process";

export function DefaultJsonSchemaValidator() {
  throw new Error("the bundle has no validator of JSON Schema of its own");
}
