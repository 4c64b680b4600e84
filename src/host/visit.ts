import type { Clock } from "../contract/clock.ts";
import { writeAddress } from "../contract/rules/link-address.ts";
import type { PageInput } from "../template/link-page.ts";
import type { MakePage } from "../template/page-time-slice.ts";
import { decideVisit, type Platform, type Visit } from "../visit/decide-visit.ts";
import { listPageButtons } from "../visit/page-buttons.ts";
import { makeAnswer, type Answer } from "./answer.ts";
import type { TemplateFinder } from "./live-template.ts";
import type { HostedLink, Site } from "./sites.ts";
import type { IncomingVisitor } from "./visitor.ts";

/** One visit of a link: `decideVisit` says what is met, and this makes an answer of it. */

export type VisitContext = {
  readonly site: Site;
  readonly hosted: HostedLink;
  readonly guest: IncomingVisitor;
  /** What was asked for, from its first slash on. */
  readonly target: string;
  readonly createNonce: () => string;
  readonly findTemplate: TemplateFinder;
  readonly makePage: MakePage;
  readonly monotonic: Clock["monotonic"];
};

/**
 * The next visit may meet something else: the link may have changed or gone. What another device
 * meets differs as well.
 */
const everyVisit = { "cache-control": "private, no-store", vary: "user-agent" } as const;

const redirectHeaders = {
  ...everyVisit,
  // What browsers do by themselves: the destination learns from which site people came, no more.
  "referrer-policy": "strict-origin-when-cross-origin",
  "x-robots-tag": "noindex",
} as const;

export async function answerVisit(context: VisitContext): Promise<Answer> {
  const { site, hosted, guest } = context;
  // Some projects tell Google Play the address of the visit, which each visitor writes anew.
  const isAlike = !guest.bot && !site.project.link_in_referrer;
  const known = isAlike ? hosted.answers[guest.platform] : undefined;
  if (known !== undefined) return known;
  const visit = decide(context);
  if (visit.action !== "redirect") return showPage(context, visit);
  const answer = makeAnswer(302, { location: visit.to, ...redirectHeaders });
  if (isAlike) hosted.answers[guest.platform] = answer;
  return answer;
}

function decide({ site, hosted, guest, target }: VisitContext): Visit {
  const { link, apps } = hosted;
  // Whoever comes here has left the preview page by its Open button, and has not got the app.
  const visited = site.isSecond ? { ...link, enable_forced_redirect: true } : link;
  return decideVisit(visited, apps, guest, {
    link_in_referrer: site.project.link_in_referrer,
    address: site.visitedOrigin + target,
    second_host: site.secondOrigin !== undefined,
  });
}

/** Others wait while a page is made; a template that is made to keep them waiting is not shown. */
const most_ms = 25;

async function showPage(context: VisitContext, visit: Visit): Promise<Answer> {
  const { site, hosted, guest, target } = context;
  const { link, apps } = hosted;
  const path = link.path ?? "";
  const platform: Platform = guest.bot ? "desktop" : guest.platform;
  const input: PageInput = {
    link: { ...link, path, address: writeAddress(site.origin, path) },
    apps: { ios: apps.ios_app, android: apps.android_app },
    project: site.project,
    platform,
    buttons: listPageButtons(visit, {
      platform,
      apps,
      address: site.visitedOrigin + target,
      second_address: site.secondOrigin && site.secondOrigin + target,
    }),
    template: await context.findTemplate(site),
    nonce: context.createNonce(),
    time: { monotonic: context.monotonic, most_ms },
  };
  // Loaded when a page is first shown: a start has no use for it.
  const { renderLinkPage } = await import("../template/link-page.ts");
  const { html, headers } = await context.makePage(() => renderLinkPage(input));
  return makeAnswer(200, { ...headers, ...everyVisit }, html);
}
