import type { Project } from "../projects.ts";
import { readUrl } from "./web-address.ts";

/**
 * A project's links open at the link origin, such as `https://{subdomain}.links.example`, or at its
 * custom domain.
 */

const placeholder = "{subdomain}";

/** The link origin that is used if none is configured. */
export function writeLocalOrigin(port?: number): string {
  return `http://${placeholder}.localhost${port === undefined ? "" : `:${port}`}`;
}

/** Whether each project has its own host. Otherwise only one project's links can be served. */
export function hasSubdomains(linkOrigin: string): boolean {
  return linkOrigin.includes(placeholder);
}

/** Whether the link origin has no `{subdomain}` and its host is this host name. */
export function isSharedLinkHost(linkOrigin: string, hostname: string): boolean {
  return !hasSubdomains(linkOrigin) && readOriginHost(linkOrigin) === hostname.toLowerCase();
}

/** Returns a host name's subdomain under the link origin, or undefined for other hosts. */
export function matchLinkHost(linkOrigin: string, hostname: string): string | undefined {
  if (!hasSubdomains(linkOrigin)) return undefined;
  const pattern = readOriginHost(linkOrigin);
  const start = pattern.indexOf(placeholder);
  const before = pattern.slice(0, start);
  const after = pattern.slice(start + placeholder.length);
  const host = hostname.toLowerCase();
  if (!host.startsWith(before) || !host.endsWith(after)) return undefined;
  const subdomain = host.slice(before.length, host.length - after.length);
  return /^[a-z0-9-]+$/.test(subdomain) ? subdomain : undefined;
}

/** Returns the origin of a project's links: its verified custom domain, or else its subdomain. */
export function fillLinkOrigin(
  linkOrigin: string,
  project: Pick<Project, "subdomain" | "custom_domain" | "custom_domain_verified">,
): string {
  const { custom_domain, custom_domain_verified } = project;
  if (custom_domain !== null && custom_domain_verified) return `https://${custom_domain}`;
  return fillSubdomain(linkOrigin, project);
}

/** Whether a URL is on the host of the project's links. An unknown host matches nothing. */
function isOwnAddress(address: string, linkHost: string | undefined): boolean {
  return linkHost !== undefined && readUrl(address)?.origin === new URL(linkHost).origin;
}

/** Whether a URL is on the project's link host, so that it could be one of its own links. */
export function isOwnLinkAddress(address: string, linkHost: string | undefined): boolean {
  if (!isOwnAddress(address, linkHost)) return false;
  const { pathname, username, password } = new URL(address);
  return pathname !== "/" && username + password === "";
}

export function isLinkHostOf(
  linkOrigin: string,
  project: Pick<Project, "subdomain">,
  hostname: string,
): boolean {
  return readUrl(fillSubdomain(linkOrigin, project))?.hostname === hostname;
}

/** Returns the project's subdomain origin, even if it has a custom domain. */
export function fillSubdomain(origin: string, { subdomain }: Pick<Project, "subdomain">): string {
  return origin.replace(placeholder, subdomain);
}

/** Whether some host name could be a project's host under both link origins. */
export function haveCommonHosts(one: string, other: string): boolean {
  const [labels, others] = [one, other].map((origin) => readOriginHost(origin).split("."));
  if (labels === undefined || others === undefined || labels.length !== others.length) return false;
  return labels.every((label, index) => isLikeLabel(label, others[index] ?? ""));
}

/**
 * Whether replacing `{subdomain}` can make two labels of host names equal. The placeholder may be
 * only part of a label.
 */
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

/** Whether the host contains {subdomain} once, so that each project has its own host. */
export function isLinkOrigin(text: string): boolean {
  const [before = "", after = "", ...more] = text.split(placeholder);
  const example = `${before}example${after}`;
  if (more.length > 0 || !text.includes(placeholder) || !isOrigin(example)) return false;
  return new URL(example).hostname.includes("example");
}

/** Accepts a scheme, a host and a port. Rejects anything that a URL parser would repair. */
export function isOrigin(text: string): boolean {
  const url = /[@?#\\\s]/.test(text) ? undefined : readUrl(text);
  if (url === undefined || url.hostname.endsWith(".")) return false;
  return /^https?:$/.test(url.protocol) && url.pathname === "/";
}

function readOriginHost(linkOrigin: string): string {
  const [, host = ""] = /^https?:\/\/([^/:]+)/i.exec(linkOrigin) ?? [];
  return host.toLowerCase();
}
