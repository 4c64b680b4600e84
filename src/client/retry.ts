import type { Endpoint } from "../contract/endpoint.ts";
import { contract } from "../contract/index.ts";
import type { JsonObject } from "../contract/json.ts";
import type { LinkFields } from "../contract/links.ts";

/** Decides which calls may be sent a second time. */

const { links, projects } = contract;

/** Whether a call is safe to retry even if an earlier attempt succeeded or is still running. */
export function isRepeatable({ tool, effect, idempotent }: Endpoint, input: JsonObject): boolean {
  if (effect === "read") return true;
  // Each attempt could create another short path.
  const isShortening = (input as LinkFields).options?.shorten === true;
  if (tool === links.upsert.tool && isShortening) return false;
  // A project contains so much that a user must confirm each attempt to delete it.
  return idempotent && tool !== projects.destroy.tool;
}
