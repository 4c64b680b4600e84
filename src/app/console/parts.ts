import type { Config } from "../../config.ts";
import type { WatchCall } from "../../contract/watch.ts";
import type { PageOptions } from "../../mcp/approval/approval-page.ts";
import type { Toolbox } from "../../mcp/tools/toolbox.ts";
import type { Addresses } from "../http/addresses.ts";
import type { Assistant, Caller } from "../process/assistant.ts";
import type { Deployment } from "../process/deployment.ts";
import type { LazyState } from "../process/lazy-state.ts";
import type { ServedBy } from "../http/watch-proxies.ts";

/** What the console of a process is made of. */

export type ConsoleParts = Pick<PageOptions, "onDecided" | "onRefused"> & {
  readonly config: Config;
  readonly version: string;
  readonly deployment: Deployment;
  readonly toolbox: Toolbox;
  readonly state: LazyState;
  readonly assistant: Pick<Assistant, "createKeyContext">;
  /** Whose secret it is, as for callers of MCP. */
  readonly identify: (secret: string) => Promise<Caller | undefined>;
  readonly hostnames: readonly string[];
  readonly readServedBy: () => ServedBy;
  readonly addresses: Pick<Addresses, "url"> & { readonly mcp: string | undefined };
  /** As the person types them. */
  readonly consoleCommand: string;
  readonly program: string;
  readonly report: (error: unknown) => string;
  readonly watchCall?: WatchCall | undefined;
};

/** As it stands in the history. */
export const consoleName = "Waypost console";
