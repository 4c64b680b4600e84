import type { KnownKey } from "../contract/access.ts";
import type { AnswerApi, ApiReply, CarriedRequest } from "../contract/api-message.ts";
import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { SetAlarm, Waiter } from "../contract/clock.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { served } from "../contract/index.ts";
import { limits } from "../contract/limits.ts";
import { messages } from "../contract/messages.ts";
import { methodNotAllowed, notFound, Problem } from "../contract/problem.ts";
import { restoreDestinations } from "../contract/rules/destinations.ts";
import { fillLinkOrigin, fillSubdomain } from "../contract/rules/link-address.ts";
import type { Report, WatchRequest } from "../contract/watch.ts";
import { readApiDescription } from "../help/api-description.ts";
import type { KeyHolder } from "../store/keys.ts";
import { createCheckQueue } from "../template/check-queue.ts";
import { answerInTime } from "./answer-in-time.ts";
import { createAddressCounter } from "./count-addresses.ts";
import { createBudgetCounters } from "./count-budgets.ts";
import { answerPreflight, findOpen, openToPages } from "./cross-origin.ts";
import type { Handlers, Services } from "./handler.ts";
import { androidAppHandlers, iosAppHandlers } from "./handlers/apps.ts";
import { appSdkHandlers } from "./handlers/app-sdk.ts";
import { linkStatsHandlers } from "./handlers/link-stats.ts";
import { browserPathHandlers, linkHandlers } from "./handlers/links.ts";
import { pageTemplateHandlers } from "./handlers/page-templates.ts";
import { projectHandlers } from "./handlers/projects.ts";
import { shortLinkHandlers } from "./handlers/short-links.ts";
import { createClientKeyCache, createKeyCache } from "./key-cache.ts";
import { answer, type AnyHandler } from "./pipeline.ts";
import { describeKey } from "./require-access.ts";
import { respondWith } from "./respond.ts";
import { createRouter } from "./router.ts";
import { createTell } from "./shared-windows.ts";
import { createTemplateQueue } from "./template-queue.ts";

export type Service = {
  readonly answer: AnswerApi;
  /** A function that reads what is known of a token's key at each call of it. */
  readonly followKey: (token: string) => LookUp;
  /** A token for calls of this process alone, in the name of a key that it was not shown. */
  readonly lendToken: (keyId: string) => string;
};

/** Answers undefined for a key that does not exist, or no longer exists. */
type LookUp = () => Promise<KnownKey | undefined>;

/** What was said of a key, and of where links lived then. */
type Known = { readonly known: KnownKey; readonly linkOrigin: string };

export type ServiceOptions = Omit<Services, "waitInQueue" | "addresses"> & {
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

const router = createRouter(pairHandlers().map((pair) => [pair[0], pair] as const));

/** The whole API as one function from an API message to its reply. */
export function createService(options: ServiceOptions): Service {
  const { monotonic } = options.clock;
  const tell = createTell(options.store, options.clock);
  const budgets = createBudgetCounters(options.clock, tell);
  const services: Services = {
    ...options,
    waitInQueue: createTemplateQueue(createCheckQueue({ monotonic })),
    addresses: createAddressCounter(options.clock, tell),
  };
  const keyCache = createKeyCache(services.store, services.clock);
  const clientKeys = createClientKeyCache(services.store, services.clock);
  const knownKeys = new WeakMap<KeyHolder, Known>();

  function answerRoute(
    request: CarriedRequest,
    found: ReturnType<typeof router.find>,
    signal: Waiter,
  ): Awaitable<ApiReply> {
    const { method, url } = request;
    if (found === undefined) return answerOther(method, router.listAllowed(url));
    if (url.length > limits.address_characters) throw new Problem(414, messages.address_too_long);
    const { target, params } = found;
    const [endpoint, handler] = target;
    const counted = { keyCache, clientKeys, budgets };
    return answer({ endpoint, handler, request, params, services, ...counted, signal });
  }

  return {
    answer: (request) => {
      const { method, url } = request;
      const found = router.find(method, url);
      const endWatch = options.watchRequest?.(found?.target[0], request);
      const open = findOpen(found?.target[0], url);
      if (open !== undefined && method === "OPTIONS") return answerPreflight(open);
      const work = (signal: Waiter) => answerRoute(request, found, signal);
      const isRead = (found?.target[0].effect ?? "read") === "read";
      return andThen(answerInTime(options, { request, isRead }, work), (reply) => {
        endWatch?.(reply.status);
        const shown = method === "HEAD" ? { ...reply, body: null } : reply;
        return open === undefined ? shown : openToPages(shown);
      });
    },
    followKey: (token) => {
      return async () => {
        const holder = await keyCache.find(token);
        return holder && describeHolder(holder);
      };
    },
    lendToken: (keyId) => keyCache.lendToken(keyId, services.random),
  };

  /** An unchanged key is the same object, so that callers need not compare its members. */
  function describeHolder(holder: KeyHolder): KnownKey {
    const linkOrigin = services.readLinkOrigin();
    const before = knownKeys.get(holder);
    if (before?.linkOrigin === linkOrigin) return before.known;
    const known = describeKnown(holder, services, linkOrigin);
    knownKeys.set(holder, { known, linkOrigin });
    return known;
  }
}

function describeKnown(
  holder: KeyHolder,
  { secondOrigin }: Services,
  linkOrigin: string,
): KnownKey {
  const { project } = holder;
  return {
    facts: describeKey(holder),
    keyId: holder.key_id,
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

/** A method that no endpoint has at this path; `OPTIONS` asks for those that one has. */
function answerOther(method: string, allowed: readonly string[]): ApiReply {
  if (allowed.length === 0) throw notFound(messages.route_unknown);
  if (method !== "OPTIONS") throw methodNotAllowed(allowed);
  return respondWith(204, null, { allow: allowed.join(", ") });
}

/** Each entry beside the handler of the same name; their types were matched in `Handlers`. */
function pairHandlers(): readonly (readonly [Endpoint, AnyHandler])[] {
  return Object.entries(served).flatMap(([group, entries]) => {
    // The loop cannot follow which entry belongs to which handler; the mapped type has checked it.
    const named = handlers[group as keyof Handlers] as unknown as Record<string, AnyHandler>;
    return Object.entries<Endpoint>(entries).map(([name, endpoint]) => {
      const handler = named[name];
      if (handler === undefined) throw new Error(`no handler for ${group}.${name}`);
      return [endpoint, handler] as const;
    });
  });
}
