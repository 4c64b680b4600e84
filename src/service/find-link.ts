import type { Filter } from "../contract/filters.ts";
import type { Link } from "../contract/links.ts";
import { joinQueries, readQuery, dropScanMark } from "../contract/rules/address-query.ts";
import {
  isSharedLinkHost,
  matchLinkHost,
  fillLinkOrigin,
  fillSubdomain,
} from "../contract/rules/link-address.ts";
import { findPathFault, normalizePath } from "../contract/rules/link-path.ts";
import { readSearch } from "../contract/rules/read-search.ts";
import { findWebAddressFault } from "../contract/rules/web-address.ts";
import { hasAppWithScheme } from "../store/apps.ts";
import { findLink, findLinkAt, findVisited, type VisitedAt } from "../store/links.ts";
import { findOldestSubdomain, findProjectNamed, type StoredProject } from "../store/projects.ts";
import type { Db, Tenant } from "../store/tables.ts";
import { readTenant, waitForClicks, type Services, type WriteCall } from "./handler.ts";

/** Finds links by path or URL, and waits for clicks that are not stored yet. */

export async function findLinkAtPath(
  tenant: Tenant,
  path: string | undefined,
): Promise<Link | undefined> {
  return isPath(path) ? findLinkAt(tenant, path) : undefined;
}

export async function findVisitedAtPath(
  tenant: Tenant,
  path: string | undefined,
): Promise<VisitedAt | undefined> {
  return isPath(path) ? findVisited(tenant, path) : undefined;
}

function isPath(path: string | undefined): path is string {
  return path !== undefined && findPathFault(path) === undefined;
}

/** A parsed URL. `text` is the URL as the client sent it. */
export type Address = Pick<URL, "hostname" | "pathname"> & { readonly text: string };

type AddressedLink = {
  readonly link: Link;
  /** The query to pass on: the URL's own query and, for a short path, the query stored with it. */
  readonly query: string;
  /** Whether this is the link's long URL, a short URL, or the URL in its QR code. */
  readonly source: "address" | "short" | "qr";
};

/**
 * Finds the link for a URL that opened an app. The URL must contain one of the project's link
 * hosts, or the custom scheme of one of the project's apps.
 */
export async function findAddressedLink(
  services: Services,
  projectId: string,
  written: string,
): Promise<AddressedLink | undefined> {
  const text = dropScanMark(written);
  const { db } = services.store;
  const tenant = { db, projectId };
  const [, scheme = "", rest = ""] = /^([a-z][a-z0-9+.-]*):\/\/([^#]*)/i.exec(text) ?? [];
  const isWeb = /^https?$/i.test(scheme);
  if (isWeb && findWebAddressFault(text) !== undefined) return undefined;
  const isOwn = isWeb
    ? (await findHostedProject(db, services, new URL(text)))?.id === projectId
    : scheme !== "" && (await hasAppWithScheme(tenant, scheme));
  if (!isOwn) return undefined;
  const path = isWeb ? new URL(text).pathname : rest.split("?", 1)[0];
  const normal = normalizePath(path ?? "");
  const visited = await findVisitedAtPath(tenant, normal);
  if (visited === undefined) return undefined;
  const { link } = visited;
  const isLong = normal === link.path;
  const source = text !== written ? "qr" : isLong ? "address" : "short";
  return { link, query: joinQueries(visited.query, readQuery(text)), source };
}

/** Finds the project that has this host as its verified custom domain or its subdomain. */
export async function findHostedProject(
  db: Db,
  { readLinkOrigin, secondOrigin }: Services,
  { hostname }: Pick<Address, "hostname">,
): Promise<StoredProject | undefined> {
  const named = await findProjectNamed(db, "custom_domain", hostname);
  if (named?.custom_domain_verified === true) return named;
  const origins = [readLinkOrigin(), ...(secondOrigin === undefined ? [] : [secondOrigin])];
  for (const origin of origins) {
    const subdomain = isSharedLinkHost(origin, hostname)
      ? await findOldestSubdomain(db)
      : matchLinkHost(origin, hostname);
    if (subdomain !== undefined) return findProjectNamed(db, "subdomain", subdomain);
  }
  return undefined;
}

export async function waitForClicksAt(
  call: Omit<WriteCall, "signal">,
  address: string | undefined,
): Promise<void> {
  if (call.services.waitForClicks === undefined) return;
  const visited = await findVisitedAtPath(readTenant(call), address);
  if (visited !== undefined) await waitForClicks(call, visited.link.id);
}

/** Waits until pending clicks of the link are stored. If any were pending, reads the link again. */
export async function readWithClicks(
  { store, waitForClicks: wait }: Services,
  projectId: string,
  link: Link,
): Promise<Link | undefined> {
  const written = wait?.(projectId, link.id);
  if (written === undefined) return link;
  await written;
  return findLink({ db: store.db, projectId }, link.id);
}

type SearchCall = Pick<WriteCall, "services" | "caller"> & {
  readonly list: { readonly search: string | undefined };
};

/** Converts search text to filters. The URL of one of the project's links matches that link. */
export function readSearched({
  services,
  caller: { project },
  list,
}: SearchCall): readonly Filter[] {
  if (list.search === undefined) return [];
  const { readLinkOrigin, secondOrigin } = services;
  const linkOrigin = readLinkOrigin();
  return readSearch(list.search, [
    fillLinkOrigin(linkOrigin, project),
    fillSubdomain(linkOrigin, project),
    ...(secondOrigin === undefined ? [] : [fillSubdomain(secondOrigin, project)]),
  ]);
}
