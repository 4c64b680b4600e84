import type { IncomingMessage, ServerResponse } from "node:http";
import { readQuery } from "../contract/rules/address-query.ts";
import { normalizePath } from "../contract/rules/link-path.ts";
import { dropPasteMark } from "../contract/rules/paste-mark.ts";
import { dropScanMark, scanMark } from "../contract/rules/scan-mark.ts";
import { readOutage } from "../store/store.ts";
import { associationPaths } from "../visit/association-files.ts";
import { createPageMaker } from "../template/page-time-slice.ts";
import { createQrPictures } from "./answer-qr.ts";
import type { Platform } from "../visit/decide-visit.ts";
import { answerVisit, isCollected, readVisited } from "./answer-visit.ts";
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
import { createSites, type HostedLink, type Site, type SitesOptions } from "./sites.ts";

/** The link host: answers browsers, bots and phones at the addresses of links. */
export type Host = {
  /** Answers a request to a link host name; for any other name `otherwise` is called. */
  readonly answer: (
    request: IncomingMessage,
    response: ServerResponse,
    hostname: string,
    otherwise: () => void,
  ) => Promise<void>;
};

export type HostOptions = SitesOptions &
  CollectorOptions & {
    readonly findCountry?: KindOptions["findCountry"];
    readonly clicks: Pick<Clicks, "note">;
    /** Notes an unexpected error where the operator looks. */
    readonly report: (error: unknown) => unknown;
  };

type HostedRequest = {
  readonly request: IncomingMessage;
  readonly site: Site;
  /** From the first slash on. */
  readonly target: string;
  /** Normalised, without its first slash. */
  readonly path: string;
  readonly languages: string | undefined;
  /** Whether it was the link's code that led here. */
  readonly isScanned: boolean;
};

const nonce_bytes = 16;

export function createHost(options: HostOptions): Host {
  const { report } = options;
  const collector = createVisitCollector(options);
  const sites = createSites(options);
  const readVisitor = createVisitorReader();
  const count = createCounter(options);
  const answerAssociationFile = createAssociationFiles();
  const { answerQr, pages } = createPages(options);

  async function route(request: IncomingMessage, site: Site | undefined): Promise<Answer> {
    const isMessage = isScriptMessage(request);
    if (!isMessage && !isRead(request)) return methodNotAllowed;
    const asked = readTarget(request.url ?? "");
    if (asked === undefined || site === undefined) return notFoundPage;
    const unscanned = asked.includes(scanMark) ? dropScanMark(asked) : asked;
    const target = dropPasteMark(unscanned);
    if (site.project.suspended) return notFoundPage;
    const [written = ""] = target.split("?", 1);
    const path = normalizePath(written);
    const languages = request.headers["accept-language"];
    if (path === undefined) return answerElse(site, written.slice(1), languages);
    const hosted = { request, site, target, path, languages, isScanned: unscanned !== asked };
    if (isMessage) return (await answerMessage(hosted)) ? noted : methodNotAllowed;
    const answer = (await answerOwnFile(hosted)) ?? (await answerLink(hosted));
    return answer ?? answerElse(site, path, languages);
  }

  /** What the host answers itself; no link can have these paths. */
  async function answerOwnFile({ request, site, target, path }: HostedRequest) {
    const ifNoneMatch = request.headers["if-none-match"];
    const system = associationFiles.get(path);
    if (system !== undefined) return answerAssociationFile(site, system, ifNoneMatch);
    const [, picturedPath] = /^(.+)\.qr$/i.exec(path) ?? [];
    if (picturedPath === undefined) return ownFiles.get(path);
    if ((await sites.findLink(site, picturedPath)) === undefined) return undefined;
    return answerQr(site, picturedPath, readQuery(target), ifNoneMatch);
  }

  async function answerLink(asked: HostedRequest) {
    const { request, site, target, path, languages } = asked;
    const hosted = await sites.findLink(site, path);
    if (hosted === undefined) return undefined;
    const visitor = readVisitor(request.headers);
    const collect = (query: string) => collector.noteRequest({ request, site, hosted, query });
    const context = { site, hosted, visitor, target, languages, collect, ...pages };
    const answer = await answerVisit(context);
    if (visitor.isPerson && request.method === "GET") count(asked, hosted, visitor.platform);
    return answer;
  }

  /** What the script of a link's page tells: at its own address, so that the link is known. */
  async function answerMessage({ request, site, target, path }: HostedRequest) {
    const hosted = await sites.findLink(site, path);
    const visitor = readVisitor(request.headers);
    if (hosted === undefined || !isCollected({ site, hosted, visitor })) return false;
    return collector.noteScript({ request, site, hosted, ...readVisited({ hosted, target }) });
  }

  return {
    answer: async (request, response, hostname, otherwise) => {
      try {
        const site = await sites.find(hostname);
        if (site === undefined && !sites.isLinkHost(hostname)) return otherwise();
        sendAnswer(response, await route(request, site));
      } catch (error) {
        sendAnswer(response, answerError(error, report));
      }
    },
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

function isRead({ method }: IncomingMessage): boolean {
  return method === "GET" || method === "HEAD";
}

function answerError(error: unknown, report: HostOptions["report"]): Answer {
  if (readOutage(error) !== undefined) return storeBusy;
  report(error);
  return unexpectedError;
}

/** Counts a person's visit of a link. */
function createCounter(options: HostOptions) {
  const readKind = createKindReader(options);
  return (
    { request, site, isScanned }: HostedRequest,
    { link, source: way }: HostedLink,
    platform: Platform,
  ): void => {
    // A visitor under the second host name was counted before the preview page.
    const isClick = !site.isSecond;
    const source = isClick ? (isScanned ? "qr" : way) : "button";
    const kind = readKind({ request, site, platform, source });
    options.clicks.note({ projectId: site.project.id, linkId: link.id, kind, isClick });
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
const storeBusy = makeAnswer(503, { ...asText, ...uncached, "retry-after": "1" }, "Try again\n");
const unexpectedError = makeAnswer(500, { ...asText, ...uncached }, "Something went wrong\n");

/** Path and query; what names a host of its own, as requests to a proxy do, is not for us. */
function readTarget(url: string): string | undefined {
  return /^\/[\x21-\x7e]*$/.test(url) ? (url.split("#", 1)[0] ?? url) : undefined;
}
