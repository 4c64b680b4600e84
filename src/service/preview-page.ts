import type { AndroidApp, IosApp } from "../contract/apps.ts";
import type { Body } from "../contract/endpoint.ts";
import { readId } from "../contract/fields.ts";
import { links, type Link, type LinkFields } from "../contract/links.ts";
import { messages } from "../contract/messages.ts";
import type { pageTemplate } from "../contract/page-template.ts";
import { notFound } from "../contract/problem.ts";
import { fillLinkOrigin, fillSubdomain, writeAddress } from "../contract/rules/link-address.ts";
import { drawSvg } from "../qr/draw-qr.ts";
import { androidAppStore, iosAppStore } from "../store/apps.ts";
import { findLink, findLinkAt } from "../store/links.ts";
import { findTemplate, type TemplateTexts } from "../store/page-templates.ts";
import type { Tenant } from "../store/tables.ts";
import { pageTimeLimit_ms } from "../template/check-queue.ts";
import type { PageLink } from "../template/page-input.ts";
import {
  decideVisit,
  hasDeviceScript,
  type Platform,
  type VisitedLink,
  type VisitOptions,
} from "../visit/decide-visit.ts";
import { listPageButtons, listPhoneStores, type PageButtonOptions } from "../visit/page-buttons.ts";
import { readPlatform } from "../visit/read-platform.ts";
import { readTenant, type WriteCall } from "./handler.ts";
import { requireScope } from "./require-access.ts";
import { blankLink, requireFreeLink, settleLink } from "./write-link.ts";
import { requireValidTemplate } from "./write-template.ts";

/** Renders a link's preview page without saving anything, redirecting or counting a click. */

type PagePreviewCall = WriteCall & {
  readonly body: Body<typeof pageTemplate.preview>;
  readonly agent: string;
};

type PreviewReply = { readonly body: string; readonly headers: Readonly<Record<string, string>> };

export async function previewPage(call: PagePreviewCall): Promise<PreviewReply> {
  const { services, caller, body: fields } = call;
  const tenant = readTenant(call);
  const template = await import("../template/link-page.ts");
  const { starter } = await import("../template/starter-template.ts");
  const subject = await chooseSubject(tenant, call);
  const text = fillFromDraft(fields, await findTemplate(tenant), starter);

  const { link, apps } = subject;
  const platform = choosePlatform(call.agent);
  const { project } = caller;
  const address = writeAddress(fillLinkOrigin(services.readLinkOrigin(), project), link.path);
  const secondOrigin = services.secondOrigin && fillSubdomain(services.secondOrigin, project);
  const second_address = secondOrigin && writeAddress(secondOrigin, link.path);
  const { link_in_referrer } = project;
  const input = {
    link: { ...link, address },
    apps: { ios: apps.ios_app, android: apps.android_app },
    project,
    platform,
    buttons: listButtons(subject, { platform, address, second_address, link_in_referrer }),
    // Previews are in English, because visitors do not see them.
    language: "en" as const,
    phone:
      platform === "desktop"
        ? await findPhoneWays(subject, { address, link_in_referrer })
        : undefined,
    nonce: Buffer.from(services.random.bytes(16)).toString("base64url"),
    forPreview: true,
    hasIdleScript: hasDeviceScript({ link, apps, project, platform }),
  };
  const { monotonic } = services.clock;
  const page = await services.waitInQueue(call, async (runQueued) => {
    await requireValidTemplate(text, { runQueued, monotonic });
    const compile = () => template.compileTemplate(text);
    const time = { monotonic, most_ms: pageTimeLimit_ms };
    return runQueued(() => template.renderLinkPage({ ...input, time, template: compile() }));
  });
  return { body: page.html, headers: page.headers };
}

type PreviewSubject = {
  readonly link: VisitedLink & Omit<PageLink, "path" | "address"> & { readonly path: string };
  readonly apps: {
    readonly ios_app?: IosApp | undefined;
    readonly android_app?: AndroidApp | undefined;
  };
};

async function chooseSubject(tenant: Tenant, call: PagePreviewCall): Promise<PreviewSubject> {
  const { link_id, link_fields } = call.body;
  const saved = link_id === undefined ? undefined : await findLink(tenant, readId(link_id));
  if (link_id !== undefined && saved === undefined) throw notFound(messages.link_not_found);
  const link =
    link_fields === undefined ? saved : await draftLink(tenant, call, link_fields, saved);
  if (link === undefined) return describeSample();
  const { ios_app_id, android_app_id } = link;
  return {
    link: { ...link, path: link.path ?? "" },
    apps: {
      ios_app: ios_app_id === null ? undefined : await iosAppStore.find(tenant, ios_app_id),
      android_app:
        android_app_id === null ? undefined : await androidAppStore.find(tenant, android_app_id),
    },
  };
}

/**
 * Returns the link as it would be saved with these fields. Permissions and rules are those of a
 * real write. But no path is claimed, no app is created and nothing is stored.
 */
async function draftLink(
  tenant: Tenant,
  call: WriteCall,
  fields: LinkFields,
  before: Link | undefined,
) {
  const write = before === undefined ? "create" : "update";
  requireScope(call.caller, links[write].scope);
  if (before === undefined) await requireFreeLink(tenant, call.caller.project);
  const settled = await settleLink(tenant, call, fields, {
    write,
    before,
    claim: async (path) => (await findLinkAt(tenant, path)) === undefined,
    registers: false,
  });
  return { ...(before ?? blankLink), ...settled };
}

async function describeSample(): Promise<PreviewSubject> {
  const { sampleApps, sampleLink } = await import("../template/sample-links.ts");
  const { ios, android } = sampleApps;
  return {
    link: sampleLink,
    apps: { ios_app: { id: "", ...ios }, android_app: { id: "", fingerprints: [], ...android } },
  };
}

/**
 * Completes the template. Omitted texts come from the saved draft, or else from the starter
 * template.
 */
function fillFromDraft(
  { body, css }: PagePreviewCall["body"],
  draft: TemplateTexts | undefined,
  starter: TemplateTexts,
): TemplateTexts {
  const isEmpty = draft === undefined || (draft.body === "" && draft.css === "");
  const saved = isEmpty ? starter : draft;
  return { body: body ?? saved.body, css: css ?? saved.css };
}

/**
 * Chooses the platform of the preview. Pages are made for phones, so callers other than browsers
 * get the page for iOS.
 */
function choosePlatform(agent: string): Platform {
  return agent.startsWith("Mozilla/") ? readPlatform(agent) : "ios";
}

/** Finds the ways to open the link on a phone, for a link without a destination on a computer. */
async function findPhoneWays(
  { link, apps }: PreviewSubject,
  options: VisitOptions & Pick<PageButtonOptions, "address">,
) {
  if (decideVisit(link, apps, { platform: "desktop" }).action !== "default_page") return undefined;
  const stores = listPhoneStores(link, apps, options);
  return stores && { stores, code: await drawSvg(options.address) };
}

/** Lists the page's buttons. A preview never redirects, so a button replaces the redirect. */
function listButtons(
  { link, apps }: PreviewSubject,
  options: Omit<PageButtonOptions, "apps"> & Pick<VisitOptions, "link_in_referrer">,
) {
  const { platform, address, second_address, link_in_referrer = false } = options;
  const shown = { ...link, enable_forced_redirect: false };
  const second_host = second_address !== undefined;
  const visit = decideVisit(shown, apps, { platform }, { address, second_host, link_in_referrer });
  const asPage =
    visit.action === "redirect"
      ? ({ action: "preview_page", open: undefined, next: visit } as const)
      : visit;
  return listPageButtons(asPage, { ...options, apps });
}
