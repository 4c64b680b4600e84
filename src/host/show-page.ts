import type { Clock } from "../contract/clock.ts";
import { addQuery, addPasteMark } from "../contract/rules/address-query.ts";
import { writeAddress } from "../contract/rules/link-path.ts";
import type { CompiledTemplate, PageInput } from "../template/link-page.ts";
import type { PhoneSection } from "../template/page-input.ts";
import type { MakePage } from "../template/page-time-slice.ts";
import { hasDeviceScript, type Platform, type VisitDecision } from "../visit/decide-visit.ts";
import { listPageButtons, listPhoneStores } from "../visit/page-buttons.ts";
import type { DrawForPage } from "./answer-qr.ts";
import type { IncomingVisitor } from "./read-visitor.ts";
import type { TemplateFinder } from "./find-live-template.ts";
import { makeAnswer, uncached, type HostAnswer } from "./http-answer.ts";
import type { HostedLink } from "./hosted-links.ts";
import type { Site } from "./sites.ts";

/** Shows the page of a link to visitors who are not redirected. */

export type PageParts = {
  readonly createNonce: () => string;
  readonly findTemplate: TemplateFinder;
  readonly makePage: MakePage;
  readonly drawForPage: DrawForPage;
  readonly monotonic: Clock["monotonic"];
};

export type PageVisit = {
  readonly site: Site;
  readonly hosted: HostedLink;
  readonly visitor: IncomingVisitor;
  readonly visit: VisitDecision;
  /** The query to pass on, including the query that a visited short path adds. */
  readonly query: string;
  /** The visited URL, including `query`. */
  readonly visited_address: string;
  /** The visited URL with the second host's origin. Undefined if no second host is configured. */
  readonly second_address: string | undefined;
  readonly languages: string | undefined;
  /** Records the visit for deferred links, and returns its ID. */
  readonly collect: () => Promise<string | undefined>;
  readonly findClient: () => string;
};

/**
 * The time limit for a template. A template that takes longer is not used, so it cannot delay
 * others.
 */
const most_ms = 25;

export async function showPage(pages: PageParts, page: PageVisit): Promise<HostAnswer> {
  const { site, hosted, visitor, visit, query, visited_address, second_address } = page;
  const { link, apps } = hosted;
  const { social_title, social_description, social_image_url } = link;
  const path = link.path ?? "";
  const address = writeAddress(site.origin, path);
  const platform: Platform = visitor.bot ? "desktop" : visitor.platform;
  const template = await pages.findTemplate(site);
  // Imported only for the first page, so that the process starts faster.
  const { renderLinkPage } = await import("../template/link-page.ts");
  const { chooseLanguage } = await import("../template/page-texts.ts");
  const input: PageInput = {
    // The link's name is internal and must not reach visitors.
    link: { url: link.url, path, address, social_title, social_description, social_image_url },
    apps: { ios: apps.ios_app, android: apps.android_app },
    ...(site.project.link_in_referrer && { opened: addQuery(address, query) }),
    project: site.project,
    platform,
    buttons: listPageButtons(visit, { platform, apps, address: visited_address, second_address }),
    template,
    language: chooseLanguage(page.languages),
    within: visitor.within,
    phone: await findPhoneSection(pages, page, template),
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
  return hasDeviceScript({ link, apps, project, platform: visitor.platform });
}

/**
 * Records the visit. The URL to copy contains the visit's ID, so it matches exactly one install.
 */
async function collect({ collect: note, site }: PageVisit, address: string) {
  const visit = await note();
  if (visit === undefined) return {};
  return {
    collectedVisit: visit,
    ...(site.project.clipboard && { copied: addPasteMark(address, visit) }),
  };
}

/**
 * Returns the QR code and store buttons for a desktop visitor, if the link has no URL for desktops.
 */
async function findPhoneSection(
  { drawForPage }: PageParts,
  { site, hosted, visitor, visit, query, visited_address, findClient }: PageVisit,
  template: CompiledTemplate | undefined,
): Promise<PhoneSection | undefined> {
  if (visit.action !== "default_page" || visitor.platform !== "desktop") return undefined;
  if (template?.isStarter === false) return undefined;
  const { link, apps } = hosted;
  const { link_in_referrer } = site.project;
  const stores = listPhoneStores(link, apps, { link_in_referrer, address: visited_address });
  if (stores === undefined) return undefined;
  const pictured = { site, path: link.path ?? "", query, client: findClient() };
  return { stores, code: await drawForPage(pictured) };
}
