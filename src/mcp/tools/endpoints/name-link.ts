import { listLinkHosts } from "../../../contract/access.ts";
import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import { isJsonObject, type JsonObject } from "../../../contract/json.ts";
import { findKind } from "../../../contract/resource-kind.ts";
import { writeAddress } from "../../../contract/rules/link-address.ts";
import {
  isWholeAddress,
  normalizeForSearch,
  wholeAddressFault,
} from "../../../contract/rules/link-path.ts";
import {
  readNamedLink,
  readPathOf,
  type NamedAddress,
} from "../../../contract/rules/named-link.ts";
import { isBlank } from "../../../contract/text.ts";
import { readIfAllowed, refuseArguments } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";
import { settleApps } from "../apps.ts";
import { findLink, findTarget } from "../targets.ts";

/** Arguments beside `id` that name a link, as the API takes them. */

const { links, pageTemplate, shortLinks } = contract;
const linkKind = findKind(links.show);

/** How each endpoint's argument is read, by the argument that it has. */
const readers: readonly (readonly [Endpoint, string, ReadName])[] = [
  [pageTemplate.preview, "link_id", (given, call) => findTarget(linkKind, given, call)],
  [shortLinks.resolve, "url", async (given, call) => completeAddress(given, call)],
  [shortLinks.create, "url", readShortened],
  [links.create, "path", readPath],
  [links.upsert, "path", readPath],
  [links.update, "path", readPath],
];

type ReadName = (given: string, call: Call, endpoint: Endpoint) => Promise<string>;

export async function nameLinkOf(
  endpoint: Endpoint,
  args: JsonObject,
  call: Call,
): Promise<JsonObject> {
  const [, argument = "", read] = readers.find(([known]) => known === endpoint) ?? [];
  const given = args[argument];
  if (read === undefined || typeof given !== "string" || isBlank(given)) return args;
  return { ...args, [argument]: await read(given, call, endpoint) };
}

/** What a link would be is named as in the call that would write it. */
export async function nameDraft(args: JsonObject, call: Call): Promise<JsonObject> {
  const { link_fields: fields } = args;
  if (!isJsonObject(fields)) return args;
  const write = args["link_id"] === undefined ? links.create : links.update;
  const { input } = await settleApps(await nameLinkOf(write, fields, call), call);
  return { ...args, link_fields: input };
}

/** A short path, or an address without its scheme, as the address that the API resolves. */
function completeAddress(given: string, call: Call): string {
  const address = readAddress(given, call);
  if (address !== undefined) return address.text;
  const { linkHost } = call.keyContext.known;
  const isPath = linkHost !== undefined && !given.includes("://");
  return isPath ? writeAddress(linkHost, normalizeForSearch(given.trim())) : given;
}

/** The address of a link that is named in another way, with the query behind its name. */
async function readShortened(given: string, call: Call): Promise<string> {
  const address = readAddress(given, call);
  if (address?.isOurs === true) return address.text;
  const { linkHost } = call.keyContext.known;
  // What looks like an address of any kind is the API's to take or refuse.
  if (address !== undefined || linkHost === undefined || /\/\/|:/.test(given)) return given;
  const link = await call.ask(links.show, { id: await findTarget(linkKind, given, call) });
  const [query = ""] = /\?[^#]*/.exec(given) ?? [];
  return writeAddress(linkHost, readPathOf(link)) + query.trimEnd();
}

/** Nobody means a path that begins with a host: it is that of the link at the address. */
async function readPath(given: string, call: Call, { tool }: Endpoint): Promise<string> {
  const address = readAddress(given, call);
  if (address?.isOurs === true) {
    const { rows = [] } = (await readIfAllowed(() => findLink(given, call))) ?? {};
    const [only] = rows;
    // A slash at the end of an address is seldom one of a path.
    return rows.length === 1 && only ? readPathOf(only) : address.path.replace(/\/$/, "");
  }
  if (!isWholeAddress(given)) return given;
  throw refuseArguments(tool, [{ field: "path", message: `Path ${wholeAddressFault}` }]);
}

function readAddress(given: string, { keyContext }: Call): NamedAddress | undefined {
  return readNamedLink(given, listLinkHosts(keyContext.known)).address;
}
