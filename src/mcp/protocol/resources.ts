import { ProtocolError, ProtocolErrorCode, type Server } from "@modelcontextprotocol/server";
import { budgets } from "../../contract/budgets.ts";
import { idParameter, type Endpoint } from "../../contract/endpoint.ts";
import { contract } from "../../contract/index.ts";
import { limits, paging } from "../../contract/limits.ts";
import { findKind } from "../../contract/resource-kind.ts";
import { showHiddenIn } from "../../text/show-hidden.ts";
import { nobodyToAsk } from "../approval/person-asked.ts";
import type { Failure } from "../results/tool-failure.ts";
import { callTool } from "../tools/call-tool.ts";
import { describeAccess } from "../tools/explain-access.ts";
import { templateView } from "../tools/templates/view-resource.ts";
import { listVisible, nameVisible } from "../tools/toolbox.ts";
import { listBulkTemplates, readBulkPage } from "./bulk-resources.ts";
import type { HideErrors } from "./protocol-errors.ts";
import type { ServerOptions } from "./server-options.ts";

/** What can be read by address: the key's access, the API's limits, and each resource. */

const mimeType = "application/json";

const access = {
  uri: "waypost://access",
  name: "access",
  title: "Access of this key",
  description: "What the API key may do, tool by tool.",
  mimeType,
};
const apiLimits = {
  uri: "waypost://limits",
  name: "limits",
  title: "Limits of the API",
  description: "Budgets per minute, page sizes and lengths.",
  mimeType,
};

/** The endpoints that show one resource by its id. */
const shown: readonly Endpoint[] = [
  contract.links.show,
  contract.iosApps.show,
  contract.androidApps.show,
  contract.projects.show,
];

/** Those of them that this configuration and this key have a tool for. */
function listShown({ toolbox, keyContext }: ServerOptions): readonly Endpoint[] {
  const names = nameVisible(toolbox, keyContext);
  return shown.filter(({ tool }) => names.has(tool));
}

export function serveResources(
  server: Server,
  options: ServerOptions,
  hideErrors: HideErrors,
): void {
  const { keyContext } = options;
  server.setRequestHandler("resources/list", () => ({
    resources: [access, apiLimits, ...(hasView(options) ? [templateView] : [])],
  }));
  const listTemplates = async () => {
    await keyContext.renew();
    const templates = [...listShown(options).map(describeTemplate), ...listBulkTemplates(options)];
    return { resourceTemplates: templates };
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
      if (page !== undefined) return { contents: [page] };
      const value = await readResource(uri, options, mcpReq.signal);
      return { contents: [{ uri, mimeType, text: JSON.stringify(showHiddenIn(value)) }] };
    }),
  );
}

/** A key that sees a view's tool may read the view. */
function hasView({ toolbox, keyContext }: ServerOptions): boolean {
  return listVisible(toolbox, keyContext).some(({ view }) => view === templateView.uri);
}

async function readView() {
  const { templateViewHtml } = await import("../tools/templates/view-html.ts");
  return { uri: templateView.uri, mimeType: templateView.mimeType, text: templateViewHtml };
}

function describeTemplate(endpoint: Endpoint) {
  const { name, label, key } = findKind(endpoint);
  const by = key === undefined ? "UUID" : `UUID or ${key}`;
  return {
    uriTemplate: `waypost:/${endpoint.path.replace(idParameter, "{id}")}`,
    name,
    title: `One ${label}`,
    description: `${label} by ${by}.`,
    mimeType,
  };
}

async function readResource(
  uri: string,
  options: ServerOptions,
  signal: AbortSignal,
): Promise<unknown> {
  const { keyContext, toolbox } = options;
  if (uri === access.uri) {
    return { access: describeAccess(keyContext, toolbox.tools, toolbox.mode) };
  }
  if (uri === apiLimits.uri) return { limits: { budgets, paging, ...limits } };
  const [, folder = "", name = ""] = /^waypost:\/\/([a-z_]+)\/([^?#]+)$/.exec(uri) ?? [];
  const endpoint = shown.find(({ path }) => path === `/${folder}/${idParameter}`);
  const tool = endpoint && toolbox.find(endpoint.tool);
  const id = decode(name);
  if (tool === undefined || id === undefined) throw refuseUnknownResource(uri);
  // Reading is the tool by another name, so that it finds, hides and refuses in the same way.
  const result = await callTool(tool, { id }, { ...options, person: nobodyToAsk, leaving: signal });
  if (result.isError !== true) return result.structuredContent;
  // Every failure has this shape (tool-failure.ts).
  const { error } = result.structuredContent as { error: Failure };
  if (error.code === "not_found") throw refuseUnknownResource(uri);
  throw new ProtocolError(ProtocolErrorCode.InternalError, error.message, { error });
}

function decode(name: string): string | undefined {
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}

function refuseUnknownResource(uri: string): ProtocolError {
  const message = "There is no such resource.";
  return new ProtocolError(ProtocolErrorCode.ResourceNotFound, message, { uri });
}
