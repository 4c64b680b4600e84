import type { Config } from "../../config.ts";
import { createHost, type HostOptions } from "../../host/host.ts";
import { approvalPath, type ApprovalPages } from "../../mcp/approval/approval-page.ts";
import { previewPath } from "../../mcp/previews/preview-pages.ts";
import type { TrustedProxies } from "../../network/client-address.ts";
import type { RequestHandlers } from "../http/http-server.ts";
import type { Assistant } from "../process/assistant.ts";
import { clock, random } from "../process/embedded.ts";
import { warnOfOutages } from "../process/explain-store-fault.ts";
import type { Log } from "../process/log.ts";
import type { Watches } from "../process/watch-work.ts";
import { createConsolePages } from "./console.ts";
import type { ConsoleParts } from "./parts.ts";

export type BrowserParts = ConsoleParts &
  Watches & {
    readonly config: Config;
    readonly log: Log;
    readonly assistant: Pick<Assistant, "openPreviewPages">;
    readonly approvals: ApprovalPages;
    /** The origin of links; null for a remote server. */
    readonly addresses: { readonly links: string | null };
    readonly findCountry: HostOptions["findCountry"];
    readonly trustedProxies: TrustedProxies | undefined;
  };

/** Creates the handlers that HTTP and stdio processes share: links, approval pages and console. */
export function createBrowserHandlers(parts: BrowserParts) {
  const { deployment, config, report, hostnames, assistant, trustedProxies } = parts;
  const { own } = deployment;
  const host =
    own &&
    createHost({
      ...own,
      linkOrigin: parts.addresses.links ?? "",
      secondOrigin: config.second_origin,
      trustedProxies,
      findCountry: parts.findCountry,
      clock,
      random,
      report: warnOfOutages(report, parts.log.warn),
    });
  return {
    console: createConsolePages(parts),
    pages: {
      [approvalPath]: parts.approvals.fetch,
      [previewPath]: assistant.openPreviewPages(hostnames).fetch,
    },
    links: host,
    watchVisit: parts.watchVisit,
    hostnames,
    trustedProxies,
  } satisfies Partial<RequestHandlers>;
}
