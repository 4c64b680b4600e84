import { ProtocolError, ProtocolErrorCode, type Server } from "@modelcontextprotocol/server";
import { idParameter, type Endpoint } from "../../contract/endpoint.ts";
import { contract } from "../../contract/index.ts";
import { budgets, limits, paging } from "../../contract/policy.ts";
import { findKind } from "../../contract/resource-kind.ts";
import { showHiddenIn } from "../../text/show-hidden.ts";
import type { Failure } from "../results/tool-failure.ts";
import { callTool } from "../tools/call-tool.ts";
import { describeAccess } from "../tools/explain-access.ts";
import { templateView, viewType } from "../tools/templates/view.ts";
import { listVisible } from "../tools/toolbox.ts";
import { listBulkTemplates, readBulkPage } from "./bulk-resources.ts";
import type { HideErrors } from "./hide-errors.ts";
import type { ServerOptions } from "./server-options.ts";

/** What can be read by address: the key's access, the API's limits, and each resource. */

const mimeType = "application/json";

const accessUri = "waypost://access";
const limitsUri = "waypost://limits";

const fixed = [
  {
    uri: accessUri,
    name: "access",
    title: "Access of this key",
    description: "What the API key may do, tool by tool.",
    mimeType,
  },
  {
    uri: limitsUri,
    name: "limits",
    title: "Limits of the API",
    description: "Budgets per minute, page sizes and lengths.",
    mimeType,
  },
];

/** The endpoints that show one resource by its id. */
const shown: readonly Endpoint[] = [
  contract.links.show,
  contract.iosApps.show,
  contract.androidApps.show,
  contract.projects.show,
];

/** Those of them that this configuration and this key have a tool for. */
export function listShown({ toolbox, keyContext }: ServerOptions): readonly Endpoint[] {
  const names = new Set(listVisible(toolbox, keyContext).map(({ name }) => name));
  return shown.filter(({ tool }) => names.has(tool));
}

export function writeTemplate({ path }: Endpoint): string {
  return `waypost:/${path.replace(idParameter, "{id}")}`;
}

export function serveResources(
  server: Server,
  options: ServerOptions,
  hideErrors: HideErrors,
): void {
  server.setRequestHandler("resources/list", () => ({
    resources: hasView(options) ? [...fixed, describeView()] : fixed,
  }));
  const listTemplates = async () => {
    await options.keyContext.renew();
    const templates = [...listShown(options).map(describeTemplate), ...listBulkTemplates(options)];
    return { resourceTemplates: templates };
  };
  server.setRequestHandler("resources/templates/list", hideErrors(listTemplates));
  server.setRequestHandler(
    "resources/read",
    hideErrors(async (request, { mcpReq }) => {
      const { uri } = request.params;
      await options.keyContext.renew();
      if (uri === templateView.uri && hasView(options)) return { contents: [await readView()] };
      const page = await readBulkPage(uri, options);
      if (page !== undefined) return { contents: [page] };
      const value = await readResource(uri, options, mcpReq.signal);
      return { contents: [{ uri, mimeType, text: JSON.stringify(showHiddenIn(value)) }] };
    }),
  );
}

/** A view is there for whoever has its tool. */
function hasView({ toolbox, keyContext }: ServerOptions): boolean {
  return listVisible(toolbox, keyContext).some(({ view }) => view === templateView.uri);
}

function describeView() {
  const { uri, name, title, description } = templateView;
  return { uri, name, title, description, mimeType: viewType };
}

async function readView() {
  const { templateViewHtml } = await import("../tools/templates/view-html.ts");
  return { uri: templateView.uri, mimeType: viewType, text: templateViewHtml };
}

function describeTemplate(endpoint: Endpoint) {
  const { name, label, key } = findKind(endpoint);
  const by = key === undefined ? "UUID" : `UUID or ${key}`;
  return {
    uriTemplate: writeTemplate(endpoint),
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
  if (uri === accessUri) return { access: describeAccess(keyContext, toolbox.tools) };
  if (uri === limitsUri) return { limits: { budgets, paging, ...limits } };
  const [, folder = "", name = ""] = /^waypost:\/\/([a-z_]+)\/([^?#]+)$/.exec(uri) ?? [];
  const endpoint = shown.find(({ path }) => path === `/${folder}/${idParameter}`);
  const tool = endpoint && toolbox.find(endpoint.tool);
  const id = decode(name);
  if (tool === undefined || id === undefined) throw refuseUnknown(uri);
  // Reading is the tool by another name, so that it finds, hides and refuses in the same way.
  const person = { canAnswer: false, answer: undefined };
  const result = await callTool(tool, { id }, { ...options, person, signal });
  if (result.isError !== true) return result.structuredContent;
  // Every failure has this shape (failure.ts).
  const { error } = result.structuredContent as { error: Failure };
  if (error.code === "not_found") throw refuseUnknown(uri);
  throw new ProtocolError(ProtocolErrorCode.InternalError, error.message, { error });
}

function decode(name: string): string | undefined {
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}

function refuseUnknown(uri: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.ResourceNotFound, "There is no such resource.", {
    uri,
  });
}
