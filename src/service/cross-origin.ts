import type { AnswerApi, ApiReply } from "../contract/api-message.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { listEndpoints } from "../contract/index.ts";
import { createRouter } from "./router.ts";

/** What lets a page of any site read a reply; it names no credentials, so that none are sent. */
const anyOrigin = { "access-control-allow-origin": "*" } as const;

/** For so long a browser does not ask again. */
const preflightKept_s = 3600;

const openEndpoints = listEndpoints().filter(({ cross_origin }) => cross_origin === true);
const router = createRouter(openEndpoints.map((endpoint) => [endpoint, endpoint] as const));

/** Lets pages of other sites ask what is meant for them, and read what refuses them as well. */
export function openToPages(answer: AnswerApi): AnswerApi {
  return async (request) => {
    const endpoint = findOpen(request.url);
    if (endpoint === undefined) return answer(request);
    if (request.method === "OPTIONS") return answerPreflight(endpoint);
    const reply = await answer(request);
    return { ...reply, headers: { ...reply.headers, ...anyOrigin } };
  };
}

/** By its path alone: a page may read that it used a wrong method. */
function findOpen(url: string): Endpoint | undefined {
  return openEndpoints.find((endpoint) => router.find(endpoint.method, url)?.target === endpoint);
}

/** What a browser asks before it sends JSON. */
function answerPreflight({ method }: Endpoint): ApiReply {
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
