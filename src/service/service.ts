import type { KnownKey } from "../contract/access.ts";
import type { AnswerApi, ApiReply } from "../contract/api-message.ts";
import type { SetAlarm } from "../contract/clock.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { served } from "../contract/index.ts";
import { limits } from "../contract/limits.ts";
import { restoreDestinations } from "../contract/rules/destinations.ts";
import { fillLinkOrigin, fillSubdomain } from "../contract/rules/link-address.ts";
import type { Report, WatchRequest } from "../contract/watch.ts";
import { readApiDescription } from "../help/help-topics.ts";
import type { KeyWithProject } from "../store/keys.ts";
import { createCheckQueue, createTemplateQueue } from "../template/check-queue.ts";
import { answerInTime } from "./deadline.ts";
import {
  answer,
  createRouter,
  findRoute,
  respondWith,
  type PathMatch,
  type Route,
} from "./pipeline.ts";
import { createKeyCache, isApiKey, describeKey } from "./keys.ts";
import { createBudgets, createWindowReport } from "./budgets.ts";
import type { Handlers, Services, UntypedHandler } from "./handler.ts";
import { androidAppHandlers, iosAppHandlers } from "./handlers/apps.ts";
import { appSdkHandlers } from "./handlers/app-sdk.ts";
import { linkStatsHandlers } from "./handlers/link-stats.ts";
import { browserPathHandlers, linkHandlers } from "./handlers/links.ts";
import { pageTemplateHandlers } from "./handlers/page-templates.ts";
import { projectHandlers } from "./handlers/projects.ts";
import { shortLinkHandlers } from "./handlers/short-links.ts";

/** Serves the API from the store: passes each request to the handler of its endpoint. */

export type Service = {
  readonly answer: AnswerApi;
  /** Returns a function that reads the key's current properties. */
  readonly followKey: (token: string) => ReadKnownKey;
  /** Creates a temporary token for a key, valid only in this process. */
  readonly lendToken: (keyId: string) => string;
};

type ReadKnownKey = () => Promise<KnownKey | undefined>;

type KnownKeyEntry = { readonly known: KnownKey; readonly linkOrigin: string };

export type ServiceOptions = Omit<Services, "waitInQueue" | "budgets"> & {
  readonly setAlarm: SetAlarm;
  readonly report: Report;
  readonly watchRequest?: WatchRequest | undefined;
};

const handlers: Handlers = {
  links: linkHandlers,
  linkStats: linkStatsHandlers,
  shortLinks: shortLinkHandlers,
  iosApps: iosAppHandlers,
  androidApps: androidAppHandlers,
  projects: projectHandlers,
  pageTemplate: pageTemplateHandlers,
  appSdk: appSdkHandlers,
  browserPaths: browserPathHandlers,
  apiDescription: {
    show: async () => ({ body: JSON.parse(await readApiDescription()) }),
  },
};

const matchPath = createRouter(listRoutes());

export function createService(options: ServiceOptions): Service {
  const { store, clock, watchRequest } = options;
  const services: Services = {
    ...options,
    waitInQueue: createTemplateQueue(createCheckQueue({ monotonic: clock.monotonic })),
    budgets: createBudgets(clock, createWindowReport(store, clock)),
  };
  const keys = createKeyCache(store, clock);
  const knownKeys = new WeakMap<KeyWithProject, KnownKeyEntry>();

  return {
    answer: async (request) => {
      const { method, url } = request;
      const matches = matchPath(url);
      const found = findRoute(matches, method);
      const endpoint = found?.route.endpoint;
      const endWatch = watchRequest?.(endpoint, request);
      const candidate = endpoint ?? findOpen(matches);
      const isOpen = candidate?.cross_origin === true;
      if (isOpen && method === "OPTIONS") return answerPreflight(candidate);
      const isRead = (endpoint?.effect ?? "read") === "read";
      const reply = await answerInTime(options, { request, isRead }, (signal) =>
        answer({ request, matches, found, services, keys, signal }),
      );
      endWatch?.(reply.status);
      const headers = isOpen ? { ...reply.headers, ...anyOrigin } : reply.headers;
      return { ...reply, headers, body: method === "HEAD" ? null : reply.body };
    },
    followKey: (token) => async () => {
      const key = await keys.find(token);
      return isApiKey(key) ? describeKnownKey(key) : undefined;
    },
    lendToken: (keyId) => keys.lendToken(keyId, services.random),
  };

  /** Returns the same object until the key changes, so that callers can compare by identity. */
  function describeKnownKey(key: KeyWithProject): KnownKey {
    const linkOrigin = services.readLinkOrigin();
    const before = knownKeys.get(key);
    if (before?.linkOrigin === linkOrigin) return before.known;
    const known = describeKnown(key, services, linkOrigin);
    knownKeys.set(key, { known, linkOrigin });
    return known;
  }
}

function describeKnown(
  key: KeyWithProject,
  { secondOrigin }: Services,
  linkOrigin: string,
): KnownKey {
  const { project } = key;
  return {
    facts: describeKey(key),
    keyId: key.key_id,
    ...(project !== null && { projectId: project.id, projectName: project.name }),
    linkHost: project === null ? undefined : fillLinkOrigin(linkOrigin, project),
    ...(project !== null && {
      otherLinkHosts: [linkOrigin, secondOrigin].flatMap((origin) =>
        origin === undefined ? [] : [fillSubdomain(origin, project)],
      ),
    }),
    hasSecondHost: secondOrigin !== undefined,
    binDays: limits.bin_days,
    linkInReferrer: project?.link_in_referrer === true,
    clipboard: project?.clipboard === true,
    ...(project?.plan === "free" && { linkLimit: project.max_links }),
    destinations: restoreDestinations(project?.destinations ?? null),
  };
}

/** Lets pages of any site read the response. Browsers send no credentials with such requests. */
const anyOrigin = { "access-control-allow-origin": "*" } as const;

const preflightMaxAge_s = 3600;

/**
 * Finds a cross-origin endpoint at this path. If one exists, even the error for an unsupported
 * method is readable from other origins.
 */
function findOpen(matches: readonly PathMatch[]): Endpoint | undefined {
  const endpoints = matches.flatMap(({ routes }) => [...routes.values()]);
  return endpoints.find(({ endpoint }) => endpoint.cross_origin === true)?.endpoint;
}

/** Answers the preflight request that browsers send before a cross-origin request with JSON. */
function answerPreflight({ method }: Endpoint): ApiReply {
  return respondWith(204, null, {
    ...anyOrigin,
    allow: `${method}, OPTIONS`,
    "access-control-allow-methods": method,
    "access-control-allow-headers": "content-type",
    "access-control-max-age": String(preflightMaxAge_s),
  });
}

function listRoutes(): readonly Route[] {
  return Object.entries(served).flatMap(([group, entries]) => {
    // TypeScript cannot match handlers to endpoints in a loop. The type `Handlers` ensures the
    // match.
    const named = handlers[group as keyof Handlers] as unknown as Record<string, UntypedHandler>;
    return Object.entries<Endpoint>(entries).map(([name, endpoint]) => {
      const handler = named[name];
      if (handler === undefined) throw new Error(`no handler for ${group}.${name}`);
      return { endpoint, handler };
    });
  });
}
