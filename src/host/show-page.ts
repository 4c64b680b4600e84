import type { Clock } from "../contract/clock.ts";
import { addQuery } from "../contract/rules/address-query.ts";
import { writeAddress } from "../contract/rules/link-address.ts";
import { addPasteMark } from "../contract/rules/paste-mark.ts";
import type { CompiledTemplate, PageInput } from "../template/link-page.ts";
import type { PhoneWays } from "../template/page-input.ts";
import type { MakePage } from "../template/page-time-slice.ts";
import { namesDevice, type Platform, type Visit } from "../visit/decide-visit.ts";
import { listPageButtons, listPhoneStores } from "../visit/page-buttons.ts";
import type { DrawForPage } from "./answer-qr.ts";
import type { IncomingVisitor } from "./classify-visitor.ts";
import type { TemplateFinder } from "./find-live-template.ts";
import { makeAnswer, uncached, type Answer } from "./http-answer.ts";
import type { HostedLink } from "./hosted-links.ts";
import type { Site } from "./sites.ts";

/** What pages are made with. */
export type PageParts = {
  readonly createNonce: () => string;
  readonly findTemplate: TemplateFinder;
  readonly makePage: MakePage;
  readonly drawForPage: DrawForPage;
  readonly monotonic: Clock["monotonic"];
};

/** A visit that no redirect answers. */
export type PageVisit = {
  readonly site: Site;
  readonly hosted: HostedLink;
  readonly visitor: IncomingVisitor;
  readonly visit: Visit;
  /** What is handed on: the query that was sent, behind what a short path stands for. */
  readonly query: string;
  /** The address that was visited, and the same under the second host name, with that query. */
  readonly address: string;
  readonly second_address: string | undefined;
  /** What the visitor's browser says of the languages that they read. */
  readonly languages: string | undefined;
  /** Notes a visit that an install may follow, and answers what it is called, if it can. */
  readonly collect: () => Promise<string | undefined>;
  /** Answers the visitor's address. */
  readonly findClient: () => string;
};

/** Other visitors wait while a page is made; a template that takes longer is not shown. */
const most_ms = 25;

/** A link's page, for a visitor who is not redirected at once. */
export async function showPage(pages: PageParts, page: PageVisit): Promise<Answer> {
  const { site, hosted, visitor, visit, query, second_address } = page;
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
    buttons: listPageButtons(visit, { platform, apps, address: page.address, second_address }),
    template,
    language: chooseLanguage(page.languages),
    within: visitor.within,
    phone: await findPhoneWays(pages, page, template),
    ...(isCollected(page) && (await collect(page, addQuery(address, query)))),
    nonce: pages.createNonce(),
    time: { monotonic: pages.monotonic, most_ms },
  };
  const made = await pages.makePage(() => renderLinkPage(input));
  const vary = made.isTranslated ? `${uncached.vary}, accept-language` : uncached.vary;
  return makeAnswer(200, { ...made.headers, ...uncached, vary }, made.html);
}

export function isCollected({
  site: { project, isSecond },
  hosted: { link, apps },
  visitor,
}: Pick<PageVisit, "site" | "hosted" | "visitor">): boolean {
  if (!visitor.isPerson || isSecond) return false;
  return namesDevice({ link, apps, project, platform: visitor.platform });
}

/** Notes the visit; what is copied names it, so that it is of use once. */
async function collect({ collect: note, site }: PageVisit, address: string) {
  const visit = await note();
  if (visit === undefined) return {};
  return {
    collectedVisit: visit,
    ...(site.project.clipboard && { copied: addPasteMark(address, visit) }),
  };
}

/** What our own design offers a visitor with a computer who has nowhere to go there. */
async function findPhoneWays(
  { drawForPage }: PageParts,
  { site, hosted, visitor, visit, query, address, findClient }: PageVisit,
  template: CompiledTemplate | undefined,
): Promise<PhoneWays | undefined> {
  if (visit.action !== "default_page" || visitor.platform !== "desktop") return undefined;
  if (template?.isStarter === false) return undefined;
  const { link, apps } = hosted;
  const { link_in_referrer } = site.project;
  const stores = listPhoneStores(link, apps, { link_in_referrer, address });
  if (stores === undefined) return undefined;
  const pictured = { site, path: link.path ?? "", query, client: findClient() };
  return { stores, code: await drawForPage(pictured) };
}
