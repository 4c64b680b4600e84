import type { Awaitable } from "../contract/awaitable.ts";
import type { Clock } from "../contract/clock.ts";
import { limits } from "../contract/limits.ts";
import { addQuery, dropQuery, joinQueries, readQuery } from "../contract/rules/address-query.ts";
import { writeAddress } from "../contract/rules/link-address.ts";
import { addPasteMark } from "../contract/rules/paste-mark.ts";
import { encodePath } from "../contract/rules/link-path.ts";
import type { CompiledTemplate, PageInput } from "../template/link-page.ts";
import type { PhoneWays } from "../template/page-input.ts";
import type { MakePage } from "../template/page-time-slice.ts";
import { decideVisit, type Platform, type Visit } from "../visit/decide-visit.ts";
import { namesDevice } from "../visit/names-device.ts";
import { listPageButtons, listPhoneStores } from "../visit/page-buttons.ts";
import type { DrawForPage } from "./answer-qr.ts";
import type { IncomingVisitor } from "./classify-visitor.ts";
import type { TemplateFinder } from "./find-live-template.ts";
import { makeAnswer, type Answer } from "./http-answer.ts";
import type { HostedLink } from "./hosted-links.ts";
import type { Site } from "./sites.ts";

/** One visit of a link: turns what `decideVisit` decided into an HTTP answer. */

type VisitContext = {
  readonly site: Site;
  readonly hosted: HostedLink;
  readonly visitor: IncomingVisitor;
  /** The path and query that were asked for, from the first slash on. */
  readonly target: string;
  /** What the visitor's browser says of the languages that they read. */
  readonly languages: string | undefined;
  /** Notes a visit that an install may follow, and answers what it is called, if it can. */
  readonly collect: (query: string) => Promise<string | undefined>;
  readonly pages: PageParts;
  /** Answers the visitor's address. */
  readonly findClient: () => string;
};

/** What pages are made with. */
export type PageParts = {
  readonly createNonce: () => string;
  readonly findTemplate: TemplateFinder;
  readonly makePage: MakePage;
  readonly drawForPage: DrawForPage;
  readonly monotonic: Clock["monotonic"];
};

/**
 * No answer is cached: before the next visit the link may change or go, and another device gets
 * another answer.
 */
const uncached = { "cache-control": "private, no-store", vary: "user-agent" } as const;

export function answerVisit(context: VisitContext): Awaitable<Answer> {
  const visited = readVisited(context);
  const visit = decide(context, visited);
  return visit.action === "redirect" ? redirectTo(visit.to) : showPage(context, visit, visited);
}

const redirectHeaders = makeAnswer(302, {
  ...uncached,
  // What browsers do by themselves: the destination learns from which site people came, no more.
  "referrer-policy": "strict-origin-when-cross-origin",
  "x-robots-tag": "noindex",
}).headers;

function redirectTo(address: string): Answer {
  return { status: 302, headers: ["location", address, ...redirectHeaders], body: "" };
}

type Visited = {
  /** What is handed on: the query that was sent, behind what a short path stands for. */
  readonly query: string;
  /** The link's path and that query, as an app reads them. */
  readonly target: string;
};

/** A short path that stands for a query is visited as its link with that query. */
export function readVisited({ hosted, target }: Pick<VisitContext, "hosted" | "target">): Visited {
  const joined = joinQueries(hosted.query, readQuery(target));
  const query = joined.length > limits.web_address_characters ? hosted.query : joined;
  const path = hosted.query === "" ? dropQuery(target) : `/${encodePath(hosted.link.path ?? "")}`;
  return { query, target: query === "" ? path : `${path}?${query}` };
}

function decide({ site, hosted, visitor }: VisitContext, { query, target }: Visited): Visit {
  const { link, apps } = hosted;
  // A visitor under the second name left the preview page by its Open button and lacks the app.
  const visited = site.isSecond ? { ...link, enable_forced_redirect: true } : link;
  return decideVisit(visited, apps, visitor, {
    link_in_referrer: site.project.link_in_referrer,
    address: site.visitedOrigin + target,
    query,
    second_host: site.secondOrigin !== undefined,
  });
}

/** Other visitors wait while a page is made; a template that takes longer is not shown. */
const most_ms = 25;

async function showPage(
  context: VisitContext,
  visit: Visit,
  { query, target }: Visited,
): Promise<Answer> {
  const { site, hosted, visitor, pages } = context;
  const { link, apps } = hosted;
  const { social_title, social_description, social_image_url } = link;
  const path = link.path ?? "";
  const address = writeAddress(site.origin, path);
  const platform: Platform = visitor.bot ? "desktop" : visitor.platform;
  const template = await pages.findTemplate(site);
  // Loaded when a page is first shown: a start has no use for it.
  const { renderLinkPage } = await import("../template/link-page.ts");
  const { chooseLanguage } = await import("../template/choose-language.ts");
  const input: PageInput = {
    // A link's name is internal: visitors get no answer that contains it.
    link: { url: link.url, path, address, social_title, social_description, social_image_url },
    apps: { ios: apps.ios_app, android: apps.android_app },
    ...(site.project.link_in_referrer && { opened: addQuery(address, query) }),
    project: site.project,
    platform,
    buttons: listPageButtons(visit, {
      platform,
      apps,
      address: site.visitedOrigin + target,
      second_address: site.secondOrigin && site.secondOrigin + target,
    }),
    template,
    language: chooseLanguage(context.languages),
    within: visitor.within,
    phone: await findPhoneWays(context, { visit, visited: { query, target }, template }),
    ...(isCollected(context) && (await collect(context, addQuery(address, query), query))),
    nonce: pages.createNonce(),
    time: { monotonic: pages.monotonic, most_ms },
  };
  const page = await pages.makePage(() => renderLinkPage(input));
  const vary = page.isTranslated ? `${uncached.vary}, accept-language` : uncached.vary;
  return makeAnswer(200, { ...page.headers, ...uncached, vary }, page.html);
}

export function isCollected({
  site: { project, isSecond },
  hosted: { link, apps },
  visitor,
}: Pick<VisitContext, "site" | "hosted" | "visitor">): boolean {
  if (!visitor.isPerson || isSecond) return false;
  return namesDevice({ link, apps, project, platform: visitor.platform });
}

/** Notes the visit; what is copied names it, so that it is of use once. */
async function collect({ collect: note, site }: VisitContext, address: string, query: string) {
  const visit = await note(query);
  if (visit === undefined) return {};
  return {
    collectedVisit: visit,
    ...(site.project.clipboard && { copied: addPasteMark(address, visit) }),
  };
}

type Shown = {
  readonly visit: Visit;
  readonly visited: Visited;
  readonly template: CompiledTemplate | undefined;
};

/** What our own design offers who has come by a computer and has nowhere to go there. */
async function findPhoneWays(
  { site, hosted, visitor, pages, findClient }: VisitContext,
  { visit, visited, template }: Shown,
): Promise<PhoneWays | undefined> {
  if (visit.action !== "default_page" || visitor.platform !== "desktop") return undefined;
  if (template?.isStarter === false) return undefined;
  const { link, apps } = hosted;
  const { link_in_referrer } = site.project;
  const address = site.visitedOrigin + visited.target;
  const stores = listPhoneStores(link, apps, { link_in_referrer, address });
  if (stores === undefined) return undefined;
  const { query } = visited;
  const pictured = { site, path: link.path ?? "", query, client: findClient() };
  return { stores, code: await pages.drawForPage(pictured) };
}
