import type { Link, shortLinks } from "../../contract/links.ts";
import { messages } from "../../contract/messages.ts";
import { faultOf, notFound, validationFailed } from "../../contract/problem.ts";
import { matchLinkHost } from "../../contract/rules/link-address.ts";
import { findPathFault, normalizePath } from "../../contract/rules/link-path.ts";
import { findWebAddressFault } from "../../contract/rules/web-address.ts";
import { findLink, findLinkAt, updateLink } from "../../store/links.ts";
import { findProjectNamed, type StoredProject } from "../../store/projects.ts";
import type { Db, Tenant } from "../../store/tenant.ts";
import { writeTenant, type GroupHandlers, type Services, type WriteCall } from "../handler.ts";
import { waitForClicksAt } from "../wait-for-clicks.ts";
import { claimCode, codeLength, createLink } from "../write-link.ts";

export const shortLinkHandlers: GroupHandlers<typeof shortLinks> = {
  create: async (call) => {
    const prefix = readPrefix(call.body.prefix ?? "");
    const address = readAddress(call.body.url ?? "", "errors");
    await waitForClicksAt(call, normalizePath(address.pathname));
    return {
      body: await writeTenant(call, async (tenant) => {
        const project = await findHostedProject(tenant.db, call.services, address);
        const isOwn = project?.id === tenant.projectId && address.pathname !== "/";
        return isOwn
          ? shortenOwn(tenant, call, address, prefix)
          : createLink(tenant, call, { url: call.body.url }, shortened(prefix));
      }),
    };
  },

  resolve: async ({ services, body }) => {
    const { db } = services.store;
    const address = readAddress(body.url ?? "");
    const project = await findHostedProject(db, services, address);
    // No project and no link have an empty id.
    const tenant = { db, projectId: project?.id ?? "" };
    const id = (await findVisited(tenant, address))?.id ?? "";
    await services.waitForClicks?.(tenant.projectId, id);
    const link = await findLink(tenant, id);
    if (link === undefined) throw notFound(messages.link_not_found);
    return { body: link };
  },
};

function shortened(prefix: string) {
  return { shortenWith: prefix, problemKey: "errors" } as const;
}

function readPrefix(text: string): string {
  const prefix = normalizePath(text);
  if (prefix === undefined) throw refuse("prefix", "is not a valid percent-encoding", "errors");
  // What is kept is the prefix with a code behind it, so that is what must be sound.
  const fault = findPathFault(prefix + "x".repeat(codeLength));
  if (fault !== undefined) throw refuse("prefix", fault, "errors");
  return prefix;
}

/** A link has one shortened path: asking again answers the same, as Firebase did. */
async function shortenOwn(
  tenant: Tenant,
  call: WriteCall,
  address: URL,
  prefix: string,
): Promise<Link> {
  const link = await findVisited(tenant, address);
  if (link === undefined) throw refuse("url", "is not the address of a link", "errors");
  if (link.shortened_path === null) {
    const shortened_path = await claimCode(tenant, call, link.id, prefix);
    return updateLink(tenant, link, { shortened_path }, call.services.clock.now());
  }
  if (link.shortened_path.startsWith(prefix)) return link;
  throw refuse("prefix", `differs from the link's shortened path ${link.shortened_path}`, "errors");
}

/** The link that an address of the tenant's link host leads to. */
function findVisited(tenant: Tenant, { pathname }: URL): Promise<Link | undefined> {
  const path = normalizePath(pathname);
  const isSound = path !== undefined && findPathFault(path) === undefined;
  return isSound ? findLinkAt(tenant, path) : Promise.resolve(undefined);
}

/** The project whose link host an address is on: its subdomain, or its verified custom domain. */
async function findHostedProject(
  db: Db,
  { linkOrigin }: Services,
  { hostname }: URL,
): Promise<StoredProject | undefined> {
  const subdomain = matchLinkHost(linkOrigin, hostname);
  if (subdomain !== undefined) return findProjectNamed(db, "subdomain", subdomain);
  const project = await findProjectNamed(db, "custom_domain", hostname);
  return project?.custom_domain_verified === true ? project : undefined;
}

function readAddress(url: string, key?: "errors"): URL {
  const fault = findWebAddressFault(url);
  if (fault !== undefined) throw refuse("url", fault, key);
  return new URL(url);
}

function refuse(field: string, fault: string, key?: "errors") {
  return validationFailed([faultOf(field, fault)], key);
}
