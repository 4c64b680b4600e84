import type { Implementation } from "@modelcontextprotocol/server";
import type { Clock } from "../../contract/clock.ts";
import type { Report, WatchCall } from "../../contract/watch.ts";
import type { KeyContext } from "../access/key-context.ts";
import type { ApproveOverwrite } from "../approval/approve-overwrite.ts";
import type { AwaitDecision } from "../approval/await-decision.ts";
import type { RequireApproval } from "../approval/require-approval.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import type { ClientMemory } from "./client-memory.ts";

/** What an assistant is connected to: one key's tools, resources and prompts. */
export type ServerOptions = {
  readonly toolbox: Toolbox;
  readonly keyContext: KeyContext;
  readonly requireApproval: RequireApproval;
  readonly approveOverwrite: ApproveOverwrite;
  readonly awaitDecision: AwaitDecision;
  /** One for all connections: a client may have none that lasts. */
  readonly clients: ClientMemory;
  readonly clock: Clock;
  readonly version: string;
  readonly report: Report;
  readonly watchCall?: WatchCall | undefined;
};

/** What the server calls itself. */
export function describeServer(version: string): Implementation {
  return { name: "waypost", title: "Waypost", version };
}
