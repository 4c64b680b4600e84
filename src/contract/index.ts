import { apiDescription, browserPaths } from "./own-endpoints.ts";
import { appSdk } from "./app-sdk.ts";
import { androidApps, iosApps } from "./apps.ts";
import type { Endpoint } from "./endpoint.ts";
import { linkStats } from "./link-stats.ts";
import { links, shortLinks } from "./links.ts";
import { pageTemplate } from "./page-template.ts";
import { projects } from "./projects.ts";

/** The endpoints that the client and the tools use, by group. */
export const contract = {
  links,
  linkStats,
  shortLinks,
  iosApps,
  androidApps,
  projects,
  pageTemplate,
} as const satisfies Record<string, Record<string, Endpoint>>;

/** Every endpoint that the embedded service implements, including those without a tool. */
export const served = {
  ...contract,
  appSdk,
  browserPaths,
  apiDescription,
} as const satisfies Record<string, Record<string, Endpoint>>;

export type ServedEndpoints = typeof served;

export const apiPrefix = "/api/v1";

export function listToolEndpoints(): readonly Endpoint[] {
  return listEndpoints().filter(({ hidden }) => hidden !== true);
}

export function listEndpoints(): readonly Endpoint[] {
  return Object.values(contract).flatMap((group) => Object.values<Endpoint>(group));
}
