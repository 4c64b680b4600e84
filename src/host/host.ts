import type { IncomingMessage, ServerResponse } from "node:http";
import { andThen, type Awaitable } from "../contract/awaitable.ts";
import { dropQuery, readQuery } from "../contract/rules/address-query.ts";
import { decodePath } from "../contract/rules/link-path.ts";
import { dropPasteMark } from "../contract/rules/paste-mark.ts";
import { dropScanMark, scanMark } from "../contract/rules/scan-mark.ts";
import { isRead } from "../network/read-method.ts";
import { readOutage } from "../store/store.ts";
import { associationPaths } from "../visit/association-files.ts";
import type { Platform } from "../visit/decide-visit.ts";
import { createPageMaker } from "../template/page-time-slice.ts";
import { createQrPictures, type QrPictures } from "./answer-qr.ts";
import { answerVisit, isCollected, readVisited } from "./answer-visit.ts";
import type { PageParts } from "./answer-visit.ts";
import { answerElse } from "./answer-else.ts";
import { createAssociationFiles } from "./association-files.ts";
import { createVisitorReader } from "./classify-visitor.ts";
import type { Clicks } from "./clicks.ts";
import { createVisitCollector, isScriptMessage } from "./collect-visits.ts";
import type { CollectorOptions } from "./collect-visits.ts";
import { createTemplateFinder } from "./find-live-template.ts";
import { makeAnswer, sendAnswer, type Answer } from "./http-answer.ts";
import { notFoundPage } from "./not-found-page.ts";
import { createKindReader, type KindOptions } from "./read-kind.ts";
import {
  createHostedLinks,
  type HostedLink,
  type HostedLinks,
  type Place,
} from "./hosted-links.ts";
import { createClientFinder, type FindClient } from "./limit-clients.ts";
import { createSites, type Site, type SitesOptions } from "./sites.ts";

/** The link host: answers browsers, bots and phones at the addresses of links. */
export type Host = {
  /** Answers a request to a link host name; for any other name `otherwise` is called. */
  readonly answer: (
    request: IncomingMessage,
    response: ServerResponse,
    hostname: string,
    otherwise: () => void,
  ) => Awaitable<void>;
  /** Whether a project is served at this host name. */
  readonly isServed: (hostname: string) => Promise<boolean>;
};

export type HostOptions = SitesOptions &
  CollectorOptions & {
    readonly findCountry?: KindOptions["findCountry"];
    readonly clicks: Pick<Clicks, "note">;
    /** Notes an unexpected error where the operator looks. */
    readonly report: (error: unknown) => unknown;
  };

type HostedRequest = Place & {
  readonly request: IncomingMessage;
  /** From the first slash on. */
  readonly target: string;
  /** Whether it was the link's code that led here. */
  readonly isScanned: boolean;
};

const nonce_bytes = 16;

export function createHost(options: HostOptions): Host {
  const sites = createSites(options);
  const route = createRoute(options);
  return {
    isServed: async (hostname) => (await sites.find(hostname)) !== undefined,
    answer: (request, response, hostname, otherwise) => {
      const send = (answer: Answer) => sendAnswer(response, answer);
      const fail = (error: unknown) => send(answerError(error, options.report));
      try {
        // Most answers are there at once.
        const answered = andThen(sites.find(hostname), (site) => {
          if (site === undefined && !sites.isLinkHost(hostname)) return otherwise();
          return andThen(route(request, site), send);
        });
        return answered instanceof Promise ? answered.catch(fail) : answered;
      } catch (error) {
        return fail(error);
      }
    },
  };
}

type Route = (request: IncomingMessage, site: Site | undefined) => Awaitable<Answer>;

function createRoute(options: HostOptions): Route {
  const links = createHostedLinks();
  const { answerQr, pages } = createPages(options);
  const findClient = createClientFinder(options.trustedProxies);
  const answerOwn = createOwnFiles(links, answerQr, findClient);
  const { answerHosted, answerMessage } = createLinkAnswers(options, pages, findClient);

  return (request, site) => {
    const isMessage = isScriptMessage(request);
    if (!isMessage && !isRead(request)) return methodNotAllowed;
    if (site === undefined || site.project.suspended) return notFoundPage;
    const asked = readAsked(request.url ?? "");
    if (asked === undefined) return notFoundPage;
    const visit = { site, request, ...asked };
    return andThen(links.findLink(visit), (hosted) => {
      if (isMessage) return answerMessage(visit, hosted);
      return hosted === undefined ? answerOwn(visit) : answerHosted(visit, hosted);
    });
  };
}

function createLinkAnswers(options: HostOptions, pages: PageParts, findClient: FindClient) {
  const collector = createVisitCollector(options);
  const readVisitor = createVisitorReader();
  const count = createCounter(options);

  function answerHosted(asked: HostedRequest, hosted: HostedLink): Awaitable<Answer> {
    const { request, site, target } = asked;
    const { headers, method } = request;
    const visitor = readVisitor(headers);
    const languages = headers["accept-language"];
    const collect = (query: string) => collector.noteRequest({ request, site, hosted, query });
    const ways = { collect, pages, findClient: () => findClient(request) };
    const context = { site, hosted, visitor, target, languages, ...ways };
    return andThen(answerVisit(context), (answer) => {
      if (visitor.isPerson && method === "GET") count(asked, hosted, visitor.platform);
      return answer;
    });
  }

  /** What the script of a link's page tells: at its own address, so that the link is known. */
  async function answerMessage(
    { request, site, target }: HostedRequest,
    hosted: HostedLink | undefined,
  ): Promise<Answer> {
    const visitor = readVisitor(request.headers);
    if (hosted === undefined || !isCollected({ site, hosted, visitor })) return methodNotAllowed;
    const visited = { request, site, hosted, ...readVisited({ hosted, target }) };
    return (await collector.noteScript(visited)) ? noted : methodNotAllowed;
  }

  return { answerHosted, answerMessage };
}

/** What the host answers itself; no link can have these paths. */
function createOwnFiles(
  links: HostedLinks,
  answerQr: QrPictures["answer"],
  findClient: FindClient,
) {
  const answerAssociationFile = createAssociationFiles();

  async function answerOwnFile({ request, site, target, path }: HostedRequest) {
    const ifNoneMatch = request.headers["if-none-match"];
    const system = associationFiles.get(path);
    if (system !== undefined) return answerAssociationFile(site, system, ifNoneMatch);
    const [, picturedPath] = /^(.+)\.qr$/i.exec(path) ?? [];
    if (picturedPath === undefined) return ownFiles.get(path);
    const pictured = await links.findLink({ site, path: picturedPath });
    if (pictured === undefined) return undefined;
    const asked = { path: picturedPath, query: readQuery(target), client: findClient(request) };
    return answerQr({ site, ...asked }, ifNoneMatch);
  }

  return async (asked: HostedRequest): Promise<Answer> => {
    const { site, path, request } = asked;
    return (
      (await answerOwnFile(asked)) ?? answerElse(site, path, request.headers["accept-language"])
    );
  };
}

function createPages({ clock, random }: HostOptions) {
  const { answer: answerQr, drawForPage } = createQrPictures(clock);
  const { monotonic } = clock;
  const makePage = createPageMaker(monotonic);
  const findTemplate = createTemplateFinder(makePage);
  const createNonce = () => Buffer.from(random.bytes(nonce_bytes)).toString("base64url");
  return { answerQr, pages: { createNonce, findTemplate, makePage, drawForPage, monotonic } };
}

function answerError(error: unknown, report: HostOptions["report"]): Answer {
  if (readOutage(error) !== undefined) return storeBusy;
  report(error);
  return unexpectedError;
}

/** Counts a person's visit of a link. */
function createCounter(options: HostOptions) {
  const readKind = createKindReader(options);
  return ({ request, site, isScanned }: HostedRequest, hosted: HostedLink, platform: Platform) => {
    // A visitor under the second host name was counted before the preview page.
    const source = site.isSecond ? "button" : isScanned ? "qr" : hosted.source;
    options.clicks.note(hosted.link.id, readKind({ request, site, platform, source }));
  };
}

const associationFiles = new Map(
  (["ios", "android"] as const).map((system) => [associationPaths[system].slice(1), system]),
);

const asText = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };
const cachedForDay = { "cache-control": "public, max-age=86400" };
const uncached = { "cache-control": "no-store" };

const ownFiles: ReadonlyMap<string, Answer> = new Map([
  // Services that show links to people must read the tags; pages tell search engines to stay out.
  ["robots.txt", makeAnswer(200, { ...asText, ...cachedForDay }, "User-agent: *\nAllow: /\n")],
  ["favicon.ico", makeAnswer(204, cachedForDay)],
]);

const noted = makeAnswer(204, uncached);
/** The connection is closed, so that no body is read to its end. */
const methodNotAllowed = makeAnswer(
  405,
  { ...asText, ...uncached, allow: "GET, HEAD", connection: "close" },
  "Method not allowed\n",
);
const storeBusy = makeAnswer(
  503,
  { ...asText, ...uncached, "retry-after": "1" },
  "Please try again in a moment.\n",
);
const unexpectedError = makeAnswer(
  500,
  { ...asText, ...uncached },
  "Something went wrong. Please try again.\n",
);

/** What a request asks for; undefined if its address is not one that the link host serves. */
function readAsked(url: string): Pick<HostedRequest, "path" | "target" | "isScanned"> | undefined {
  const asked = readTarget(url);
  if (asked === undefined) return undefined;
  const unscanned = asked.includes(scanMark) ? dropScanMark(asked) : asked;
  const target = dropPasteMark(unscanned);
  const written = dropQuery(target);
  // What cannot be decoded has a percent sign, and no link's path has one.
  const path = decodePath(written) ?? written.slice(1);
  return { path, target, isScanned: unscanned !== asked };
}

/** Path and query; what names a host of its own, as requests to a proxy do, is not for us. */
function readTarget(url: string): string | undefined {
  return /^\/[\x21-\x7e]*$/.test(url) ? (url.split("#", 1)[0] ?? url) : undefined;
}
