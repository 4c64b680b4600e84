import type { Link, shortLinks } from "../../contract/links.ts";
import { messages } from "../../contract/messages.ts";
import { faultOf, notFound, validationFailed } from "../../contract/problem.ts";
import { matchLinkHost } from "../../contract/rules/link-address.ts";
import { findPathFault, normalizePath } from "../../contract/rules/link-path.ts";
import { findWebAddressFault } from "../../contract/rules/web-address.ts";
import { findLink, updateLink } from "../../store/links.ts";
import { findProjectNamed, type StoredProject } from "../../store/projects.ts";
import type { Db, Tenant } from "../../store/tenant.ts";
import { findLinkAtPath } from "../find-link-at-path.ts";
import { writeTenant, type GroupHandlers, type Services, type WriteCall } from "../handler.ts";
import { waitForClicksAt } from "../wait-for-clicks.ts";
import { claimGeneratedPath, codeLength, createLink } from "../write-link.ts";

export const shortLinkHandlers: GroupHandlers<typeof shortLinks> = {
  create: async (call) => {
    const prefix = readPrefix(call.body.prefix ?? "");
    const address = readAddress(call.body.url ?? "", "errors");
    await waitForClicksAt(call, normalizePath(address.pathname));
    return {
      body: await writeTenant(call, async (tenant) => {
        const project = await findHostedProject(tenant.db, call.services, address);
        const isOwn = project?.id === tenant.projectId && address.pathname !== "/";
        if (isOwn) return shortenOwn(tenant, call, address, prefix);
        const options = { shortenedPrefix: prefix, problemKey: "errors" } as const;
        return createLink(tenant, call, { url: call.body.url }, options);
      }),
    };
  },

  resolve: async ({ services, body }) => {
    const { db } = services.store;
    const address = readAddress(body.url ?? "");
    const project = await findHostedProject(db, services, address);
    // A suspended project's links are answered to nobody; no project and no link has an empty id.
    const tenant = { db, projectId: project === undefined || project.suspended ? "" : project.id };
    const id = (await findLinkOf(tenant, address))?.id ?? "";
    await services.waitForClicks?.(tenant.projectId, id);
    const link = await findLink(tenant, id);
    if (link === undefined) throw notFound(messages.link_not_found);
    return { body: link };
  },
};

function readPrefix(text: string): string {
  const prefix = normalizePath(text);
  if (prefix === undefined) {
    throw refuseField("prefix", "is not a valid percent-encoding", "errors");
  }
  // What is stored is the prefix with a code behind it, so that is what must be valid.
  const fault = findPathFault(prefix + "x".repeat(codeLength));
  if (fault !== undefined) throw refuseField("prefix", fault, "errors");
  return prefix;
}

/** A link has one shortened path: asking again answers the same, as Firebase did. */
async function shortenOwn(
  tenant: Tenant,
  call: WriteCall,
  address: URL,
  prefix: string,
): Promise<Link> {
  const link = await findLinkOf(tenant, address);
  if (link === undefined) throw refuseField("url", "is not the address of a link", "errors");
  if (link.shortened_path === null) {
    const shortened_path = await claimGeneratedPath(tenant, call, link.id, prefix);
    return updateLink(tenant, link, { shortened_path }, call.services.clock.now());
  }
  if (link.shortened_path.startsWith(prefix)) return link;
  throw refuseField(
    "prefix",
    `differs from the link's shortened path ${link.shortened_path}`,
    "errors",
  );
}

/** The link at an address of the tenant's link host. */
function findLinkOf(tenant: Tenant, { pathname }: URL): Promise<Link | undefined> {
  return findLinkAtPath(tenant, normalizePath(pathname));
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
  if (fault !== undefined) throw refuseField("url", fault, key);
  return new URL(url);
}

function refuseField(field: string, fault: string, key?: "errors") {
  return validationFailed([faultOf(field, fault)], key);
}
