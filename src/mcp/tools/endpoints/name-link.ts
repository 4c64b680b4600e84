import { listLinkHosts } from "../../../contract/access.ts";
import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKind } from "../../../contract/resource-kind.ts";
import { writeAddress } from "../../../contract/rules/link-address.ts";
import { normalizeForSearch } from "../../../contract/rules/link-path.ts";
import { readNamedLink } from "../../../contract/rules/named-link.ts";
import { isBlank } from "../../../contract/text.ts";
import type { Call } from "../tool.ts";
import { findTarget } from "./find-target.ts";

/** Arguments beside `id` that name a link, as the API takes them. */

const { links, pageTemplate, shortLinks } = contract;

export async function nameLinkOf(
  endpoint: Endpoint,
  args: JsonObject,
  call: Call,
): Promise<JsonObject> {
  const { link_id, url } = args;
  if (endpoint === pageTemplate.preview && typeof link_id === "string" && !isBlank(link_id)) {
    return { ...args, link_id: await findTarget(findKind(links.show), link_id, call) };
  }
  if (endpoint !== shortLinks.resolve || typeof url !== "string" || isBlank(url)) return args;
  return { ...args, url: completeAddress(url, call) };
}

/** A short path, or an address without its scheme, as the address that the API resolves. */
function completeAddress(given: string, call: Call): string {
  const { address } = readNamedLink(given, listLinkHosts(call.keyContext.known));
  if (address !== undefined) return address.text;
  const { linkHost } = call.keyContext.known;
  const isPath = linkHost !== undefined && !given.includes("://");
  return isPath ? writeAddress(linkHost, normalizeForSearch(given.trim())) : given;
}
