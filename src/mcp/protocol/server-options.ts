import type { Implementation } from "@modelcontextprotocol/server";
import type { Clock } from "../../contract/clock.ts";
import type { Report, WatchCall } from "../../contract/watch.ts";
import type { KeyContext } from "../access/key-context.ts";
import type { ApproveOverwrite } from "../approval/approve-overwrite.ts";
import type { AwaitDecision } from "../approval/await-decision.ts";
import type { RequireApproval } from "../approval/require-approval.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import type { ClientMemory } from "./hidden-questions.ts";

/**
 * The dependencies of an MCP server: a key's tools and approvals, and state that all connections
 * share.
 */
export type ServerOptions = {
  readonly toolbox: Toolbox;
  readonly keyContext: KeyContext;
  readonly requireApproval: RequireApproval;
  readonly approveOverwrite: ApproveOverwrite;
  readonly awaitDecision: AwaitDecision;
  /** Shared by all connections, because a client may open a new connection for each call. */
  readonly clients: ClientMemory;
  readonly clock: Clock;
  readonly version: string;
  readonly report: Report;
  readonly watchCall?: WatchCall | undefined;
};

export function describeServer(version: string): Implementation {
  return { name: "waypost", title: "Waypost", version };
}
