import type { IncomingMessage, ServerResponse } from "node:http";
import type { Random } from "../contract/clock.ts";
import { findPathFault, normalizePath } from "../contract/rules/link-path.ts";
import { StoreBusy } from "../store/store.ts";
import { createPageMaker } from "../template/page-time-slice.ts";
import { makeAnswer, sendAnswer, type Answer } from "./answer.ts";
import { createAssociation, type AssociationSystem } from "./association.ts";
import type { Clicks } from "./clicks.ts";
import { createTemplateFinder } from "./live-template.ts";
import { notFound } from "./not-found-page.ts";
import { answerQr } from "./qr.ts";
import { createSites, type HostedLink, type Site, type SitesOptions } from "./sites.ts";
import { answerVisit } from "./visit.ts";
import { createVisitorReader } from "./visitor.ts";

/** The link host: what browsers, bots and phones meet at the addresses of links. */
export type Host = {
  /** Answers what was asked of a project's host name; every other is left to `otherwise`. */
  readonly answer: (
    request: IncomingMessage,
    response: ServerResponse,
    hostname: string,
    otherwise: () => void,
  ) => Promise<void>;
};

export type HostOptions = SitesOptions & {
  readonly random: Random;
  readonly clicks: Pick<Clicks, "note">;
  /** Notes an unexpected error where the operator looks. */
  readonly report: (error: unknown) => unknown;
};

type Asked = {
  readonly request: IncomingMessage;
  readonly site: Site;
  /** From the first slash on. */
  readonly target: string;
  /** Normalised, without its first slash. */
  readonly path: string;
};

const nonce_bytes = 16;

export function createHost(options: HostOptions): Host {
  const { random, clicks, report } = options;
  const sites = createSites(options);
  const readGuest = createVisitorReader();
  const answerAssociation = createAssociation();
  const { monotonic } = options.clock;
  const makePage = createPageMaker(monotonic);
  const findTemplate = createTemplateFinder(makePage);
  const createNonce = () => Buffer.from(random.bytes(nonce_bytes)).toString("base64url");
  const pages = { createNonce, findTemplate, makePage, monotonic };

  async function route(request: IncomingMessage, site: Site | undefined): Promise<Answer> {
    if (request.method !== "GET" && request.method !== "HEAD") return methodNotAllowed;
    const target = readTarget(request.url ?? "");
    const path = target && normalizePath(target.split("?", 1)[0] ?? "");
    if (path === undefined || target === undefined || site === undefined) return notFound;
    if (site.project.suspended) return notFound;
    const asked = { request, site, target, path };
    return (await answerOwn(asked)) ?? (await answerLink(asked)) ?? notFound;
  }

  /** What the host answers itself; no link can have these paths. */
  async function answerOwn({ request, site, target, path }: Asked): Promise<Answer | undefined> {
    const ifNoneMatch = request.headers["if-none-match"];
    const system = associationFiles.get(path);
    if (system !== undefined) return answerAssociation(site, system, ifNoneMatch);
    const [, pictured] = /^(.+)\.qr$/i.exec(path) ?? [];
    if (pictured === undefined) return ownFiles.get(path);
    if ((await findLink(site, pictured)) === undefined) return undefined;
    const query = new URLSearchParams(target.split("?").slice(1).join("?"));
    return answerQr(site, pictured, query, ifNoneMatch);
  }

  async function answerLink({ request, site, target, path }: Asked): Promise<Answer | undefined> {
    const hosted = await findLink(site, path);
    if (hosted === undefined) return undefined;
    const guest = readGuest(request.headers);
    const visited = { site, hosted, guest, target };
    const answer = await answerVisit({ ...visited, ...pages });
    // Whoever comes by the second name was counted before the preview page.
    const isClick = guest.isPerson && request.method === "GET" && !site.isSecond;
    if (isClick) clicks.note(site.project.id, hosted.link.id);
    return answer;
  }

  async function findLink(site: Site, path: string): Promise<HostedLink | undefined> {
    return findPathFault(path) === undefined ? sites.findLink(site, path) : undefined;
  }

  return {
    answer: async (request, response, hostname, otherwise) => {
      try {
        const site = await sites.find(hostname);
        if (site === undefined && !sites.isOurs(hostname)) return otherwise();
        sendAnswer(response, await route(request, site));
      } catch (error) {
        sendAnswer(response, explain(error));
      }
    },
  };

  function explain(error: unknown): Answer {
    if (error instanceof StoreBusy) return busy;
    report(error);
    return broken;
  }
}

const associationFiles: ReadonlyMap<string, AssociationSystem> = new Map([
  [".well-known/apple-app-site-association", "ios"],
  [".well-known/assetlinks.json", "android"],
]);

const plain = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };
const forDay = { "cache-control": "public, max-age=86400" };
const notKept = { "cache-control": "no-store" };

const ownFiles: ReadonlyMap<string, Answer> = new Map([
  // Those who show links to people must read the tags; no page is kept in a search engine.
  ["robots.txt", makeAnswer(200, { ...plain, ...forDay }, "User-agent: *\nAllow: /\n")],
  ["favicon.ico", makeAnswer(204, forDay)],
]);

/** What a stranger sends along is not read to its end. */
const methodNotAllowed = makeAnswer(
  405,
  { ...plain, ...notKept, allow: "GET, HEAD", connection: "close" },
  "Method not allowed\n",
);
const busy = makeAnswer(503, { ...plain, ...notKept, "retry-after": "1" }, "Try again\n");
const broken = makeAnswer(500, { ...plain, ...notKept }, "Something went wrong\n");

/** Path and query; what names a host of its own, as requests to a proxy do, is not for us. */
function readTarget(url: string): string | undefined {
  return /^\/[\x21-\x7e]*$/.test(url) ? (url.split("#", 1)[0] ?? url) : undefined;
}
