import type { Implementation } from "@modelcontextprotocol/server";

/** What the server calls itself. */
export function describeServer(version: string): Implementation {
  return { name: "waypost", title: "Waypost", version };
}
