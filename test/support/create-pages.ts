import { createApprovalPages, type PageOptions } from "../../src/mcp/approval/page.ts";
import { createPreviewPages, previewPath } from "../../src/mcp/previews/preview-pages.ts";
import { createPreviews } from "../../src/mcp/access/saved-previews.ts";

/** What a person opens in a browser: approvals and previews, as one server has both. */

type Options = Omit<PageOptions, "hostnames" | "onDecided">;

const hostnames = ["127.0.0.1", "localhost"];

export function createPages(options: Options): (request: Request) => Promise<Response> {
  const { openState, report } = options;
  const approvals = createApprovalPages({ ...options, hostnames, onDecided: () => {} });
  const openPreviews = async () => createPreviews((await openState()).kept);
  const previews = createPreviewPages({ openPreviews, hostnames, report });
  return (request) => {
    const isPreview = new URL(request.url).pathname.startsWith(previewPath);
    return (isPreview ? previews : approvals).fetch(request);
  };
}
