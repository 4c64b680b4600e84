import type { Project } from "../projects.ts";
import { encodePath, decodeForSearch } from "./link-path.ts";
import { readUrl } from "./web-address.ts";

/**
 * Where a project's links live: its subdomain put into the service's link origin,
 * `https://{subdomain}.links.example` say, or a custom domain of its own.
 */

const placeholder = "{subdomain}";

/** Where links live on a machine that has no domain for them. */
export function writeLocalOrigin(port?: number): string {
  return `http://${placeholder}.localhost${port === undefined ? "" : `:${port}`}`;
}

/** Another deployment may store paths with a leading slash, encoded or with half a character. */
export function writeAddress(origin: string, path: string): string {
  return `${origin}/${encodePath(decodeForSearch(path).toWellFormed())}`;
}

/** Whether each project has its own host under this link origin. If not, there can be only one. */
export function hasSubdomains(linkOrigin: string): boolean {
  return linkOrigin.includes(placeholder);
}

/** Whether this is the one host of a link origin without subdomains. */
export function isSharedLinkHost(linkOrigin: string, hostname: string): boolean {
  return !hasSubdomains(linkOrigin) && readHostname(linkOrigin) === hostname.toLowerCase();
}

/** The subdomain in a host name of the link origin, or undefined for any other host. */
export function matchLinkHost(linkOrigin: string, hostname: string): string | undefined {
  if (!hasSubdomains(linkOrigin)) return undefined;
  const pattern = readHostname(linkOrigin);
  const start = pattern.indexOf(placeholder);
  const before = pattern.slice(0, start);
  const after = pattern.slice(start + placeholder.length);
  const host = hostname.toLowerCase();
  if (!host.startsWith(before) || !host.endsWith(after)) return undefined;
  const subdomain = host.slice(before.length, host.length - after.length);
  return /^[a-z0-9-]+$/.test(subdomain) ? subdomain : undefined;
}

/** Where the links of one project live: its own domain once that is verified. */
export function fillLinkOrigin(
  linkOrigin: string,
  project: Pick<Project, "subdomain" | "custom_domain" | "custom_domain_verified">,
): string {
  const { custom_domain, custom_domain_verified } = project;
  if (custom_domain !== null && custom_domain_verified) return `https://${custom_domain}`;
  return fillSubdomain(linkOrigin, project);
}

/** Whether an address is on the host where a project's links live, as far as that is known. */
function isOwnAddress(address: string, linkHost: string | undefined): boolean {
  return linkHost !== undefined && readUrl(address)?.origin === new URL(linkHost).origin;
}

/** Whether it may be that of a link there, whose short path would lead nobody anywhere else. */
export function isOwnLinkAddress(address: string, linkHost: string | undefined): boolean {
  if (!isOwnAddress(address, linkHost)) return false;
  const { pathname, username, password } = new URL(address);
  return pathname !== "/" && username + password === "";
}

/** Whether this is the host name of a project under the link origin. */
export function isLinkHostOf(
  linkOrigin: string,
  project: Pick<Project, "subdomain">,
  hostname: string,
): boolean {
  return readUrl(fillSubdomain(linkOrigin, project))?.hostname === hostname;
}

/** A project's place under a link origin, whatever domain it has beside that. */
export function fillSubdomain(origin: string, { subdomain }: Pick<Project, "subdomain">): string {
  return origin.replace(placeholder, subdomain);
}

/** Whether some host name could be read as a project's by either of two link origins. */
export function haveCommonHosts(one: string, other: string): boolean {
  const [labels, others] = [one, other].map((origin) => readHostname(origin).split("."));
  if (labels === undefined || others === undefined || labels.length !== others.length) return false;
  return labels.every((label, index) => isLikeLabel(label, others[index] ?? ""));
}

/** A subdomain is one label, or a part of one, and can be anything but empty. */
function isLikeLabel(one: string, other: string): boolean {
  const [before = "", after] = one.split(placeholder);
  const [otherBefore = "", otherAfter] = other.split(placeholder);
  if (after === undefined && otherAfter === undefined) return one === other;
  if (after === undefined) return isPart(one, otherBefore, otherAfter ?? "");
  if (otherAfter === undefined) return isPart(other, before, after);
  const isStartAlike = before.startsWith(otherBefore) || otherBefore.startsWith(before);
  const isEndAlike = after.endsWith(otherAfter) || otherAfter.endsWith(after);
  return isStartAlike && isEndAlike;
}

function isPart(label: string, before: string, after: string): boolean {
  const isLonger = label.length > before.length + after.length;
  return isLonger && label.startsWith(before) && label.endsWith(after);
}

/** An origin that names no subdomain, or more than an origin, cannot tell projects apart. */
export function isLinkOrigin(text: string): boolean {
  const [before = "", after = "", ...more] = text.split(placeholder);
  const example = `${before}example${after}`;
  if (more.length > 0 || !text.includes(placeholder) || !isOrigin(example)) return false;
  return new URL(example).hostname.includes("example");
}

/** A scheme, a host and perhaps a port; what a reader of addresses would repair is refused. */
export function isOrigin(text: string): boolean {
  const url = /[@?#\\\s]/.test(text) ? undefined : readUrl(text);
  if (url === undefined || url.hostname.endsWith(".")) return false;
  return /^https?:$/.test(url.protocol) && url.pathname === "/";
}

function readHostname(linkOrigin: string): string {
  const [, host = ""] = /^https?:\/\/([^/:]+)/i.exec(linkOrigin) ?? [];
  return host.toLowerCase();
}
