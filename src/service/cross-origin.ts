import type { ApiReply } from "../contract/api-message.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { served } from "../contract/index.ts";
import { createRouter } from "./router.ts";

/** What lets a page of any site read a reply; it names no credentials, so that none are sent. */
const anyOrigin = { "access-control-allow-origin": "*" } as const;

/** For so long a browser does not ask again. */
const preflightKept_s = 3600;

const openEndpoints = Object.values(served)
  .flatMap((group) => Object.values<Endpoint>(group))
  .filter(({ cross_origin }) => cross_origin === true);
const router = createRouter(openEndpoints.map((endpoint) => [endpoint, endpoint] as const));

/** Lets pages of other sites read what was meant for them, and what refuses them as well. */
export function openToPages(reply: ApiReply): ApiReply {
  return { ...reply, headers: { ...reply.headers, ...anyOrigin } };
}

/** What pages of other sites may ask. A page may also read that it used a wrong method. */
export function findOpen(found: Endpoint | undefined, url: string): Endpoint | undefined {
  if (found !== undefined) return found.cross_origin === true ? found : undefined;
  return openEndpoints.find((endpoint) => router.find(endpoint.method, url)?.target === endpoint);
}

/** What a browser asks before it sends JSON. */
export function answerPreflight({ method }: Endpoint): ApiReply {
  const headers = {
    ...anyOrigin,
    allow: `${method}, OPTIONS`,
    "access-control-allow-methods": method,
    "access-control-allow-headers": "content-type",
    "access-control-max-age": String(preflightKept_s),
    "cache-control": "no-store",
  };
  return { status: 204, headers, body: null };
}
