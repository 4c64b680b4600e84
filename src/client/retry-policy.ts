import type { Endpoint } from "../contract/endpoint.ts";
import { contract } from "../contract/index.ts";
import type { LinkFields } from "../contract/links.ts";
import type { JsonObject } from "../contract/json.ts";

/** Whether a call may be sent again while its first try may have been, or still be, carried out. */
export type RetryPolicy =
  | "safe"
  /** Safe as well, but only a look tells the call's own work from another caller's. */
  | "after_look"
  | "never";

const { links, iosApps, androidApps, projects } = contract;

/** The column of security-reliability.md §3, for calls that write. */
export function readRetryPolicy({ tool, idempotent }: Endpoint, input: JsonObject): RetryPolicy {
  // An identifier is unique in its project, so a second app cannot come of it.
  if (tool === iosApps.create.tool || tool === androidApps.create.tool) return "after_look";
  // Each time another shortened path might be made. The cast holds, because the types of `call`
  // hold its callers to this entry's own fields.
  const isShortening = (input as LinkFields).options?.shorten === true;
  if (tool === links.upsert.tool && isShortening) return "never";
  // A project's deletion deletes so much that a person confirms each attempt.
  if (tool === projects.destroy.tool) return "never";
  return idempotent ? "safe" : "never";
}
