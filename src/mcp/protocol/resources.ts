import { ProtocolError, ProtocolErrorCode, type Server } from "@modelcontextprotocol/server";
import { createProjectApps } from "../../lists/project-apps.ts";
import { showHiddenIn } from "../../text/show-hidden.ts";
import type { KeyContext } from "../access/key-context.ts";
import { nameChangedApps } from "../tools/apps.ts";
import { readBulkUri, showPlanPage } from "../tools/bulk/show-plan.ts";
import { templateView } from "../tools/templates/run-template.ts";
import { listVisible, nameVisible } from "../tools/toolbox.ts";
import type { HideErrors } from "./protocol-errors.ts";
import type { ServerOptions } from "./server-options.ts";

/**
 * Serves MCP resources that are too long for the result of a call: rows of plans, exported files
 * and an HTML view.
 */

type ResourceContent = { readonly uri: string; readonly mimeType: string; readonly text: string };

export function serveResources(
  server: Server,
  options: ServerOptions,
  hideErrors: HideErrors,
): void {
  const { keyContext } = options;
  server.setRequestHandler("resources/list", () => ({
    resources: hasView(options) ? [templateView] : [],
  }));
  const listTemplates = async () => {
    await keyContext.renew();
    return { resourceTemplates: listBulkTemplates(options) };
  };
  server.setRequestHandler("resources/templates/list", hideErrors(listTemplates));
  server.setRequestHandler(
    "resources/read",
    hideErrors(async (request, { mcpReq }) => {
      const { uri } = request.params;
      await keyContext.readListening();
      await keyContext.renew();
      if (uri === templateView.uri && hasView(options)) return { contents: [await readView()] };
      const page = await readBulkPage(uri, keyContext, mcpReq.signal);
      if (page === undefined) throw refuseUnknownResource(uri);
      return { contents: [page] };
    }),
  );
}

/** Whether the key can see the tool that uses the HTML view. Only then is the view listed. */
function hasView({ toolbox, keyContext }: ServerOptions): boolean {
  return listVisible(toolbox, keyContext).some(({ view }) => view === templateView.uri);
}

async function readView(): Promise<ResourceContent> {
  const { templateViewHtml } = await import("../tools/templates/view-html.ts");
  return { uri: templateView.uri, mimeType: templateView.mimeType, text: templateViewHtml };
}

/** Lists the resource templates of tools that this key can use. */
function listBulkTemplates({ toolbox, keyContext }: ServerOptions) {
  const names = nameVisible(toolbox, keyContext);
  return Object.entries(templates).flatMap(([tool, template]) =>
    names.has(tool) ? [template] : [],
  );
}

const templates = {
  plan_links: {
    uriTemplate: "waypost://plans/{id}/{page}",
    name: "plan_rows",
    title: "Rows of a plan",
    description: "Each link that a plan would change, before and after.",
    mimeType: "application/json",
  },
  export_links: {
    uriTemplate: "waypost://exports/{id}/{page}",
    name: "export_page",
    title: "Page of an export",
    description: "One page of a CSV or JSON file from export_links.",
  },
} as const;

/** Returns undefined for an unknown URI, or for a plan or export of another key. */
async function readBulkPage(
  uri: string,
  owner: KeyContext,
  signal: AbortSignal,
): Promise<ResourceContent | undefined> {
  const asked = readBulkUri(uri);
  if (asked === undefined) return undefined;
  const { kind, id, page } = asked;
  if (kind === "plans") {
    const plan = await owner.bulk.findPlan(id, owner);
    if (plan === undefined) return undefined;
    const shown = await showPlanPage(plan, owner.bulk, page);
    const apps = createProjectApps({ call: owner.call, signal });
    const text = JSON.stringify(showHiddenIn(await nameChangedApps(shown, { apps })));
    return { uri, mimeType: "application/json", text };
  }
  const found = await owner.bulk.findExport(id, page, owner);
  return found && { uri, mimeType: found.type, text: found.text };
}

function refuseUnknownResource(uri: string): ProtocolError {
  const message = "This resource does not exist.";
  return new ProtocolError(ProtocolErrorCode.ResourceNotFound, message, { uri });
}
