import type { IncomingMessage, ServerResponse } from "node:http";
import { andThen, type Awaitable } from "../contract/waiting.ts";
import { limits } from "../contract/limits.ts";
import {
  dropQuery,
  joinQueries,
  readQuery,
  dropPasteMark,
  dropScanMark,
  scanMark,
} from "../contract/rules/address-query.ts";
import { decodePath, encodePath } from "../contract/rules/link-path.ts";
import { isRead } from "../network/read-request.ts";
import { readOutage } from "../store/store.ts";
import { createPageMaker } from "../template/page-time-slice.ts";
import { decideVisit } from "../visit/decide-visit.ts";
import { answerOwn, createAssociationFiles, notFoundPage } from "./answer-own.ts";
import { createQrPictures } from "./answer-qr.ts";
import { createVisitorReader, createKindReader, type KindOptions } from "./read-visitor.ts";
import type { Clicks } from "./clicks.ts";
import { createVisitCollector, isScriptMessage, type CollectorOptions } from "./collect-visits.ts";
import { createTemplateFinder } from "./find-live-template.ts";
import { createHostedLinks, type HostedLink } from "./hosted-links.ts";
import { asText, makeAnswer, redirectHeaders, uncached, type HostAnswer } from "./http-answer.ts";
import { createClientFinder } from "./limit-clients.ts";
import { isCollected, showPage } from "./show-page.ts";
import { createSites, type Site, type SitesOptions } from "./sites.ts";

/** The link host, which serves links to browsers, bots and phones. */
export type LinkHost = {
  /** Answers a request to a link host. If the host name is not a link host, calls `otherwise`. */
  readonly answer: (
    request: IncomingMessage,
    response: ServerResponse,
    hostname: string,
    otherwise: () => void,
  ) => Awaitable<void>;
  /** Whether a project has this host name. */
  readonly isServed: (hostname: string) => Promise<boolean>;
};

export type HostOptions = SitesOptions &
  CollectorOptions & {
    readonly findCountry?: KindOptions["findCountry"];
    readonly clicks: Pick<Clicks, "note">;
    readonly report: (error: unknown) => unknown;
  };

export function createHost(options: HostOptions): LinkHost {
  const sites = createSites(options);
  const parts = createParts(options);
  return {
    isServed: async (hostname) => (await sites.find(hostname)) !== undefined,
    answer: (request, response, hostname, otherwise) => {
      // Node omits the body of a response to a HEAD request.
      const send = ({ status, headers, body }: HostAnswer) =>
        void response.writeHead(status, headers).end(body);
      const fail = (error: unknown) => send(answerError(error, options.report));
      try {
        // Not awaited, because most responses are available synchronously.
        const answered = andThen(sites.find(hostname), (site) => {
          if (site === undefined && !sites.isLinkHost(hostname)) return otherwise();
          return andThen(answerRequest(parts, request, site), send);
        });
        return answered instanceof Promise ? answered.catch(fail) : answered;
      } catch (error) {
        return fail(error);
      }
    },
  };
}

type HostParts = ReturnType<typeof createParts>;

const nonce_bytes = 16;

function createParts(options: HostOptions) {
  const { clock, random, clicks } = options;
  const { monotonic } = clock;
  const { answer: answerQr, drawForPage } = createQrPictures(clock);
  const makePage = createPageMaker(monotonic);
  const createNonce = () => Buffer.from(random.bytes(nonce_bytes)).toString("base64url");
  const findTemplate = createTemplateFinder(makePage);
  return {
    links: createHostedLinks(),
    readVisitor: createVisitorReader(),
    findClient: createClientFinder(options.trustedProxies),
    collector: createVisitCollector(options),
    readKind: createKindReader(options),
    clicks,
    pages: { createNonce, findTemplate, makePage, drawForPage, monotonic },
    answerQr,
    answerAssociationFile: createAssociationFiles(),
  };
}

type HostedRequest = {
  readonly request: IncomingMessage;
  readonly site: Site;
  readonly path: string;
  /** The request's path and query, including the leading slash. */
  readonly target: string;
  readonly isScanned: boolean;
};

function answerRequest(
  parts: HostParts,
  request: IncomingMessage,
  site: Site | undefined,
): Awaitable<HostAnswer> {
  const isMessage = isScriptMessage(request);
  if (!isMessage && !isRead(request)) return methodNotAllowed;
  if (site === undefined || site.project.suspended) return notFoundPage;
  const parsed = readTarget(request.url ?? "");
  if (parsed === undefined) return notFoundPage;
  const { path, target, isScanned } = parsed;
  const hostedRequest = { request, site, path, target, isScanned };
  return andThen(parts.links.findLink(hostedRequest), (hosted) => {
    if (isMessage) return answerMessage(parts, hostedRequest, hosted);
    if (hosted !== undefined) return answerVisit(parts, hostedRequest, hosted);
    const findClient = () => parts.findClient(request);
    return answerOwn(parts, { site, path, target, headers: request.headers, findClient });
  });
}

function answerVisit(
  parts: HostParts,
  { request, site, target, isScanned }: HostedRequest,
  hosted: HostedLink,
): Awaitable<HostAnswer> {
  const { headers, method } = request;
  const { link, apps } = hosted;
  const visitor = parts.readVisitor(headers);
  const { query, target: visitedTarget } = readVisited(hosted, target);
  const visited_address = site.visitedOrigin + visitedTarget;
  // On the second host, redirect the visitor. The Open button opened this host instead of the app,
  // so the visitor has already seen the preview page.
  const effectiveLink = site.isSecond ? { ...link, enable_forced_redirect: true } : link;
  const visit = decideVisit(effectiveLink, apps, visitor, {
    link_in_referrer: site.project.link_in_referrer,
    address: visited_address,
    query,
    second_host: site.secondOrigin !== undefined,
  });
  const answer =
    visit.action === "redirect"
      ? redirectTo(visit.to)
      : showPage(parts.pages, {
          site,
          hosted,
          visitor,
          visit,
          query,
          visited_address,
          second_address: site.secondOrigin && site.secondOrigin + visitedTarget,
          languages: headers["accept-language"],
          collect: () => parts.collector.noteRequest({ request, site, hosted, query }),
          findClient: () => parts.findClient(request),
        });
  return andThen(answer, (made) => {
    if (visitor.isPerson && method === "GET") {
      // Count a visit to the second host as a press of the Open button, because the click was
      // already counted when the preview page was shown.
      const source = site.isSecond ? "button" : isScanned ? "qr" : hosted.source;
      const { platform } = visitor;
      parts.clicks.note(link.id, parts.readKind({ request, site, platform, source }));
    }
    return made;
  });
}

const ownHeaders = makeAnswer(302, { ...redirectHeaders, ...uncached }).headers;

function redirectTo(address: string): HostAnswer {
  return { status: 302, headers: ["location", address, ...ownHeaders], body: "" };
}

/** Returns the query for the destination, and the path and query that an app gets. */
function readVisited(
  { query: own, link }: HostedLink,
  target: string,
): { readonly query: string; readonly target: string } {
  const joined = joinQueries(own, readQuery(target));
  const query = joined.length > limits.web_address_characters ? own : joined;
  // If a short path adds a query, the app gets the link's own path with that query.
  const path = own === "" ? dropQuery(target) : `/${encodePath(link.path ?? "")}`;
  return { query, target: query === "" ? path : `${path}?${query}` };
}

/**
 * Records what the script of a link's page reports. The script sends its request to the URL of that
 * link.
 */
async function answerMessage(
  { readVisitor, collector }: HostParts,
  { request, site, target }: HostedRequest,
  hosted: HostedLink | undefined,
): Promise<HostAnswer> {
  const visitor = readVisitor(request.headers);
  if (hosted === undefined || !isCollected({ site, hosted, visitor })) return methodNotAllowed;
  const { query } = readVisited(hosted, target);
  return (await collector.noteScript({ request, site, hosted, query }))
    ? reportAccepted
    : methodNotAllowed;
}

/**
 * Parses the URL of a request. Returns undefined if the link host does not serve URLs of this form.
 */
function readTarget(url: string): Pick<HostedRequest, "path" | "target" | "isScanned"> | undefined {
  // A URL that includes a host is meant for a proxy, but this server is not a proxy.
  if (!/^\/[\x21-\x7e]*$/.test(url)) return undefined;
  const parsed = url.split("#", 1)[0] ?? url;
  const unscanned = parsed.includes(scanMark) ? dropScanMark(parsed) : parsed;
  const target = dropPasteMark(unscanned);
  const written = dropQuery(target);
  // If the path cannot be decoded, it keeps a percent sign, so it matches no link.
  const path = decodePath(written) ?? written.slice(1);
  return { path, target, isScanned: unscanned !== parsed };
}

function answerError(error: unknown, report: HostOptions["report"]): HostAnswer {
  if (readOutage(error) !== undefined) return storeBusy;
  report(error);
  return unexpectedError;
}

const asPlainText = { ...asText, "cache-control": "no-store" } as const;
const reportAccepted = makeAnswer(204, { "cache-control": "no-store" });
/** Closes the connection, so that the server need not read the request's body. */
const methodNotAllowed = makeAnswer(
  405,
  { ...asPlainText, allow: "GET, HEAD", connection: "close" },
  "Method not allowed\n",
);
const storeBusy = makeAnswer(
  503,
  { ...asPlainText, "retry-after": "1" },
  "Please try again in a moment.\n",
);
const unexpectedError = makeAnswer(500, asPlainText, "Something went wrong. Please try again.\n");
