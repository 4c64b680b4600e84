import type { Link, shortLinks } from "../../contract/links.ts";
import { limits } from "../../contract/limits.ts";
import { messages } from "../../contract/messages.ts";
import { makeFieldProblem, notFound, validationFailed } from "../../contract/problem.ts";
import { joinQueries, readQuery } from "../../contract/rules/address-query.ts";
import { decodePath, findPathFault, normalizePath } from "../../contract/rules/link-path.ts";
import { findWebAddressFault } from "../../contract/rules/web-address.ts";
import { findLink, updateLink, findShortPath, insertShortPath } from "../../store/links.ts";
import { tallyWrite } from "../../store/projects.ts";
import type { Tenant } from "../../store/tables.ts";
import {
  findHostedProject,
  findVisitedAtPath,
  waitForClicksAt,
  type Address,
} from "../find-link.ts";
import { writeTenant, type GroupHandlers, type WriteCall } from "../handler.ts";
import { claimGeneratedPath, codeLength, createLink } from "../write-link.ts";

/** Handles calls that shorten a URL, and calls that look up the link of a URL. */
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
    // An empty project id matches no link, so links of a suspended project are not found.
    const tenant = { db, projectId: project === undefined || project.suspended ? "" : project.id };
    const visited = await findVisitedAtPath(tenant, normalizePath(address.pathname));
    const id = visited?.link.id ?? "";
    await services.waitForClicks?.(tenant.projectId, id);
    const link = await findLink(tenant, id);
    if (link === undefined) throw notFound(messages.link_not_found);
    return { body: visited?.query ? { ...link, query: visited.query } : link };
  },
};

function readPrefix(text: string): string {
  const prefix = decodePath(text);
  if (prefix === undefined) {
    throw refuseField("prefix", "has invalid percent-encoding", "errors");
  }
  // The prefix and the generated code form one path, so they are checked together.
  const fault = findPathFault(prefix + "x".repeat(codeLength));
  if (fault !== undefined) throw refuseField("prefix", fault, "errors");
  return prefix;
}

/**
 * Returns the link's short path. Each further query or prefix gets an additional short path. As in
 * Firebase Dynamic Links, repeating a request returns the same path.
 */
async function shortenOwn(
  tenant: Tenant,
  call: WriteCall,
  address: Address,
  prefix: string,
): Promise<Link> {
  const visited = await findVisitedAtPath(tenant, normalizePath(address.pathname));
  if (visited === undefined) throw refuseField("url", "is not the address of a link", "errors");
  const { link } = visited;
  const query = joinQueries(visited.query, readQuery(address.text));
  if (query === "" && link.shortened_path === null) {
    const shortened_path = await claimGeneratedPath(tenant, call, link.id, prefix);
    return updateLink(tenant, link, { shortened_path }, call.services.clock.now());
  }
  if (query === "" && link.shortened_path?.startsWith(prefix) === true) return link;
  return { ...link, shortened_path: await claimShortPath(tenant, call, { link, query, prefix }) };
}

type ShortPathRequest = { readonly link: Link; readonly query: string; readonly prefix: string };

/** Returns the link's additional short path for this query and prefix, and creates it if needed. */
async function claimShortPath(
  tenant: Tenant,
  call: WriteCall,
  { link, query, prefix }: ShortPathRequest,
): Promise<string> {
  const most = limits.shortened_query_characters;
  if (query.length > most) {
    throw refuseField(
      "url",
      `has a query that is too long (maximum is ${most} characters)`,
      "errors",
    );
  }
  const known = await findShortPath(tenant, { linkId: link.id, query, prefix });
  if (known !== undefined) return known;
  await tallyWrite(tenant, 0);
  const path = await claimGeneratedPath(tenant, call, link.id, prefix);
  await insertShortPath(tenant, { linkId: link.id, path, query });
  return path;
}

function readAddress(text: string, key?: "errors"): Address {
  const fault = findWebAddressFault(text);
  if (fault !== undefined) throw refuseField("url", fault, key);
  const { hostname, pathname } = new URL(text);
  return { text, hostname, pathname };
}

function refuseField(field: string, fault: string, key?: "errors") {
  return validationFailed([makeFieldProblem(field, fault)], key);
}
