import type { Config } from "../../config.ts";
import { apiPrefix } from "../../contract/index.ts";
import { writeLocalOrigin } from "../../contract/rules/link-address.ts";
import { isLoopbackHost } from "../../network/ip-address.ts";

/** The URLs of a serving process. */
export type Addresses = {
  readonly url: string;
  readonly mcp: string;
  readonly api: string;
  /** Null if a remote server serves the links and the operator has not set their origin. */
  readonly links: string | null;
};

export function describeAddresses(config: Config, port: number): Addresses {
  const { host, public_url, base_url, link_origin } = config;
  const isEverywhere = host === "0.0.0.0" || host === "::";
  const name = isEverywhere ? "localhost" : host.includes(":") ? `[${host}]` : host;
  const url = public_url ?? `http://${name}:${port}`;
  return {
    url,
    mcp: `${url}/mcp`,
    api: (base_url ?? url) + apiPrefix,
    links: base_url === undefined ? describeLinkOrigin(config, port) : (link_origin ?? null),
  };
}

/** Whether other machines can reach this server, but only over plain HTTP. */
export function isOpenToOthers({ host, public_url }: Config): boolean {
  return !isLoopbackHost(host) && public_url?.startsWith("https:") !== true;
}

/** Lists the origins of the data folder's links, whether or not a process serves them. */
export function listLinkOrigins({ link_origin, second_origin }: Config): readonly string[] {
  return [link_origin ?? writeLocalOrigin(), second_origin].filter(
    (origin) => origin !== undefined,
  );
}

export function describeLinkOrigin({ link_origin }: Config, port: number): string {
  return link_origin ?? writeLocalOrigin(port);
}

/** Whether the embedded service's links are on `localhost`, so browsers use a loopback address. */
export function hasLocalLinks(config: Config): boolean {
  const isOwn = config.base_url === undefined;
  return isOwn && listLinkOrigins(config).some((origin) => /\.localhost(:\d+)?$/.test(origin));
}

/**
 * Lists this process's own host names, without link hosts. Pages and MCP reject requests with other
 * host names, because any website can point its name at this machine (DNS rebinding).
 */
export function listHostnames({ host }: Config, { url }: Addresses): readonly string[] {
  const { hostname } = new URL(url);
  return [...new Set([hostname, host, "localhost", "127.0.0.1", "[::1]"])];
}

/** A server that listens on all addresses can be reached on the loopback address. */
export function findReachableHost(host: string): string {
  return { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
}
