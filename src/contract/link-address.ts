/**
 * Where a project's links live: its subdomain put into the service's link origin,
 * `https://{subdomain}.links.example` say, or a custom domain of its own.
 */

const placeholder = "{subdomain}";

/** The subdomain in a host name of the link origin, or undefined for any other host. */
export function matchLinkHost(linkOrigin: string, hostname: string): string | undefined {
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
  project: {
    readonly subdomain: string;
    readonly custom_domain: string | null;
    readonly custom_domain_verified: boolean;
  },
): string {
  const { subdomain, custom_domain, custom_domain_verified } = project;
  if (custom_domain !== null && custom_domain_verified) return `https://${custom_domain}`;
  return linkOrigin.replace(placeholder, subdomain);
}

/** An origin that names no subdomain, or more than an origin, cannot tell projects apart. */
export function isLinkOrigin(text: string): boolean {
  const [before = "", after = "", ...more] = text.split(placeholder);
  const example = `${before}example${after}`;
  if (more.length > 0 || !text.includes(placeholder) || !URL.canParse(example)) return false;
  const { protocol, hostname, pathname, search, hash, username } = new URL(example);
  const isBare = pathname === "/" && search + hash + username === "";
  return /^https?:$/.test(protocol) && isBare && hostname.includes("example");
}

function readHostname(linkOrigin: string): string {
  const [, host = ""] = /^https?:\/\/([^/:]+)/i.exec(linkOrigin) ?? [];
  return host.toLowerCase();
}
