import * as z from "zod";
import { pickNamedApps, type ProjectApp, type AppMember } from "../../lists/project-apps.ts";
import { listLinks, usesOwnFilters } from "../../lists/select-links.ts";
import { listLinkHosts } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { normalizeId } from "../../contract/fields.ts";
import { contract } from "../../contract/index.ts";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import type { LinkFields } from "../../contract/links.ts";
import { toSentence } from "../../contract/problem.ts";
import { describeIds, findKind } from "../../contract/resource-kind.ts";
import { readQuery, addScanMark } from "../../contract/rules/address-query.ts";
import {
  isWholeAddress,
  normalizeForSearch,
  normalizePath,
  wholeAddressFault,
  writeAddress,
} from "../../contract/rules/link-path.ts";
import {
  readNamedLink,
  readPathOf,
  type NamedAddress,
} from "../../contract/rules/named-records.ts";
import { isBlank } from "../../contract/text.ts";
import { drawPng } from "../../qr/draw-qr.ts";
import type { VisitedApps, VisitedLink } from "../../visit/decide-visit.ts";
import { explainInstalls, explainVisits } from "../../visit/explain-link.ts";
import type { CallProblem } from "../results/call-problem.ts";
import {
  explainEnd,
  readIfAllowed,
  readIfPossible,
  refuseArguments,
} from "../results/tool-failure.ts";
import { listFields, type ToolFields } from "../schemas/input-schema.ts";
import { problems } from "../schemas/output-schema.ts";
import { settleApps } from "./apps.ts";
import { presentRead, runEndpoint } from "./endpoints/run-endpoint.ts";
import { findLink, findTarget } from "./targets.ts";
import { makeTool, readAny, type EndpointAddition, type ToolCall, type Tool } from "./tool.ts";
import { listUnreadFields, readVisitOptions } from "./visits.ts";

/** Extends the endpoint tools for links, and defines the tool that explains a link. */

const { links, pageTemplate, shortLinks } = contract;
const linkKind = findKind(links.show);

export const linkAdditions: readonly (readonly [Endpoint, EndpointAddition])[] = [
  [links.index, { run: listFiltered }],
  [
    links.show,
    { fields: { qr: z.boolean().optional().describe("Also return a QR code") }, run: getLink },
  ],
];

/** Lists links. Rejects filters that the server does not support. */
async function listFiltered(
  endpoint: Endpoint,
  asked: JsonObject,
  call: ToolCall,
): Promise<JsonObject> {
  if (!usesOwnFilters(asked)) return runEndpoint(endpoint, asked, call);
  const { keyContext, signal } = call;
  try {
    const page = await listLinks({ ...keyContext, signal }, asked);
    return await presentRead(endpoint, asked, page, call);
  } catch (error) {
    throw explainEnd({ tool: endpoint.tool, endpoint }, error);
  }
}

/** Returns a link. With `qr`, also returns its QR code as an image. */
async function getLink(
  endpoint: Endpoint,
  { qr, ...args }: JsonObject,
  call: ToolCall,
): Promise<JsonObject> {
  const { known } = call.keyContext;
  const refuse = (message: string) => refuseArguments(endpoint.tool, [{ field: "qr", message }]);
  if (qr === true && known.linkHost === undefined) {
    throw refuse("the link's address is unknown; the operator must set WAYPOST_LINK_ORIGIN");
  }
  const result = await runEndpoint(endpoint, args, call);
  if (qr !== true) return result;
  // The link host is known here, so the URL is missing only if the link's path could not be parsed.
  const { address } = result["link"] as { readonly address?: string };
  if (address === undefined) throw refuse("the link's path could not be read");
  // Only Waypost's own host recognizes and removes the parameter that marks QR code visits.
  const picture = await drawPng(known.facts === undefined ? address : addScanMark(address));
  if (picture === undefined) throw refuse("the address is too long for a QR code");
  call.extras.pictures.push({ data: picture, mimeType: "image/png" });
  return result;
}

/** Replaces the names of links and apps in arguments with ids. */
export async function nameArguments(
  endpoint: Endpoint,
  given: JsonObject,
  call: ToolCall,
): Promise<JsonObject> {
  const args = await nameLink(endpoint, given, call);
  const { link_fields: fields } = args;
  if (!isJsonObject(fields)) return args;
  const write = args["link_id"] === undefined ? links.create : links.update;
  const { input } = await settleApps(await nameLink(write, fields, call), call);
  return { ...args, link_fields: input };
}

type ReadNamedArgument = (given: string, call: ToolCall, endpoint: Endpoint) => Promise<string>;

/** Maps the arguments that identify a link to the functions that resolve them. */
const namedArguments: readonly (readonly [Endpoint, string, ReadNamedArgument])[] = [
  [pageTemplate.preview, "link_id", (given, call) => findTarget(linkKind, given, call)],
  [shortLinks.resolve, "url", async (given, call) => completeAddress(given, call)],
  [shortLinks.create, "url", readShortened],
  [links.create, "path", readPath],
  [links.upsert, "path", readPath],
  [links.update, "path", readPath],
];

/** Whether an argument of the endpoint's tool, other than `id`, identifies a link. */
export function takesNames(endpoint: Endpoint): boolean {
  return namedArguments.some(([known]) => known === endpoint);
}

async function nameLink(endpoint: Endpoint, args: JsonObject, call: ToolCall): Promise<JsonObject> {
  const [, argument = "", read] = namedArguments.find(([known]) => known === endpoint) ?? [];
  const given = args[argument];
  if (read === undefined || typeof given !== "string" || isBlank(given)) return args;
  return { ...args, [argument]: await read(given, call, endpoint) };
}

/** Expands a short path, or a URL without a scheme, into a URL that the API can resolve. */
function completeAddress(given: string, call: ToolCall): string {
  const address = readAddress(given, call);
  if (address !== undefined) return address.text;
  const { linkHost } = call.keyContext.known;
  const isPath = linkHost !== undefined && !given.includes("://");
  return isPath ? writeAddress(linkHost, normalizeForSearch(given.trim())) : given;
}

/** Converts a link's name or path to its URL. Keeps the query string. */
async function readShortened(given: string, call: ToolCall, { tool }: Endpoint): Promise<string> {
  const address = readAddress(given, call);
  if (address?.isOurs === true) return address.text;
  const { linkHost } = call.keyContext.known;
  // The API itself validates input that looks like a URL.
  if (address !== undefined || linkHost === undefined || /\/\/|:/.test(given)) return given;
  const link = await call.callApi(links.show, { id: await findTarget(linkKind, given, call) });
  const [query = ""] = /\?[^#]*/.exec(given) ?? [];
  const path = requirePath(readPathOf(link), { tool, field: "url", what: "whole URL" });
  return writeAddress(linkHost, path) + query.trimEnd();
}

/** Converts the URL of a link to the link's path. Leaves a path unchanged. */
async function readPath(given: string, call: ToolCall, endpoint: Endpoint): Promise<string> {
  const { tool } = endpoint;
  const address = readAddress(given, call);
  if (address?.isOurs === true) {
    // A trailing slash of a URL is rarely part of the path.
    const ownPath = address.path.replace(/\/$/, "");
    // The service generates the path of a link that is created without one.
    if (ownPath === "" && endpoint === links.create) return ownPath;
    const rows = (await readIfAllowed(() => findLink(given, call))) ?? [];
    const [only] = rows;
    const path = rows.length === 1 && only ? readPathOf(only) : ownPath;
    return requirePath(path, { tool, field: "path", what: "path" });
  }
  if (!isWholeAddress(given)) return given;
  throw refuseArguments(tool, [{ field: "path", message: `Path ${wholeAddressFault}` }]);
}

type PathArgument = Readonly<Record<"tool" | "field" | "what", string>>;

/** Throws if the path is unknown, and thus empty. An empty path would mean another link. */
function requirePath(path: string, { tool, field, what }: PathArgument): string {
  if (path !== "") return path;
  const message = `the path of this link is unknown; pass the link's ${what} as ${field}`;
  throw refuseArguments(tool, [{ field, message }]);
}

function readAddress(given: string, { keyContext }: ToolCall): NamedAddress | undefined {
  return readNamedLink(given, listLinkHosts(keyContext.known)).address;
}

const explained = {
  visits: z.looseObject({
    ios: z.looseObject({}),
    android: z.looseObject({}),
    desktop: z.looseObject({}),
  }),
  problems,
};

/**
 * The tool that shows what a link's visitors see. It also accepts the fields of an unsaved link.
 */
export function createExplainLink(): Tool {
  return makeTool({
    name: "explain_link",
    title: "Explain a link",
    description: "Show what a link's visitors see and any problems, by id or from unsaved fields.",
    group: "links",
    effect: "read",
    like: { what: "Fields", tool: links.create.tool },
    fields: listExplainedFields,
    sharedFields: Object.keys(links.create.body.shape),
    isWordless: true,
    result: () => explained,
    // Explaining an unsaved link sends no request, so any one of these permissions is enough.
    readAccess: readAny([links.show, links.create, links.update]),
    run: async (args, call) => {
      const { link, apps, query, hints } = await readExplained(args, call);
      const { known } = call.keyContext;
      const options = readVisitOptions(link, known, query);
      const plan = known.facts?.plan;
      const { visits, problems: found, ...rest } = explainVisits(link, apps, options);
      return {
        visits,
        ...rest,
        problems: [...hints, ...found],
        ...explainInstalls(link, apps, { ...options, plan, clipboard: known.clipboard }),
      };
    },
  });
}

function listExplainedFields(): ToolFields {
  const options = { idText: describeIds(linkKind) };
  const { id } = listFields(links.show, options);
  return { ...listFields(links.create, options), ...(id && { id: id.optional() }) };
}

type LinkToExplain = {
  readonly link: VisitedLink;
  readonly apps: VisitedApps;
  /** The query string of the given URL. It is passed on to the link's destinations. */
  readonly query: string;
  readonly hints: readonly CallProblem[];
};

async function readExplained(args: JsonObject, call: ToolCall): Promise<LinkToExplain> {
  const { id, ...fields } = args;
  const isById = typeof id === "string";
  if (isById === Object.keys(fields).length > 0) {
    const message = "explain_link takes either id or the fields of an unsaved link";
    throw refuseArguments("explain_link", [{ field: "id", message }]);
  }
  if (isById) {
    const link = await call.callApi(links.show, { id: await findTarget(linkKind, id, call) });
    const apps = {
      ios_app: await readApp("ios_app", { id: link.ios_app_id }, call),
      android_app: await readApp("android_app", { id: link.android_app_id }, call),
    };
    return { link, apps, query: readQuery(id), hints: listUnread(link) };
  }
  const { ios_app: ios, android_app: android }: LinkFields = fields;
  const apps = {
    ios_app: await readApp("ios_app", { id: ios?.id, name: ios?.bundle_id }, call),
    android_app: await readApp(
      "android_app",
      { id: android?.id, name: android?.package_name },
      call,
    ),
  };
  return { link: fields, apps, query: "", hints: await findSaved(fields, call) };
}

/** Lists the fields that a remote server omits: visits are explained as if these were empty. */
function listUnread(link: VisitedLink): readonly CallProblem[] {
  const deferred = "ios_deferred_deep_linking_enabled";
  const unread = [...listUnreadFields(link), ...(link[deferred] === undefined ? [deferred] : [])];
  if (unread.length === 0) return [];
  return [{ message: `The server did not return ${toSentence(unread)}: assumed to be empty.` }];
}

/** Suggests using the ID of a saved link if the fields contain only that link's path. */
async function findSaved(fields: LinkFields, call: ToolCall): Promise<readonly CallProblem[]> {
  const wanted = normalizePath(fields.path ?? "") ?? "";
  if (wanted === "" || Object.keys(fields).length > 1) return [];
  const rows = (await readIfPossible(findLink(wanted, call))) ?? [];
  const isSaved = rows.some((row) => readPathOf(row) === wanted);
  return isSaved ? [{ field: "path", message: "A link with this path exists: use its id." }] : [];
}

/** Returns undefined if the fields identify no app, or if the key lacks permission to read it. */
async function readApp(
  member: AppMember,
  { id, name }: Readonly<Partial<Record<"id" | "name", string | null | undefined>>>,
  { apps }: ToolCall,
): Promise<ProjectApp | undefined> {
  if (isBlank(id) && isBlank(name)) return undefined;
  const { rows = [] } = (await apps.list(member)) ?? {};
  if (!isBlank(id)) return rows.find((app) => app.id === normalizeId(id ?? ""));
  const [app, ...others] = pickNamedApps(rows, name ?? "");
  return others.length === 0 ? app : undefined;
}
