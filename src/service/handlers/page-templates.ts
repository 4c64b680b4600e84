import type { ApiRequest } from "../../contract/api-message.ts";
import type { AndroidApp, IosApp } from "../../contract/apps.ts";
import { describeTemplateState } from "../../contract/condition.ts";
import type { Body } from "../../contract/endpoint.ts";
import { readId } from "../../contract/fields.ts";
import { limits } from "../../contract/limits.ts";
import { links, type Link, type LinkFields } from "../../contract/links.ts";
import { messages } from "../../contract/messages.ts";
import {
  pageTemplate,
  type PageTemplate,
  type TemplateFields,
} from "../../contract/page-template.ts";
import {
  notFound,
  makeFieldProblem,
  overloaded,
  Problem,
  templateRefused,
  type TextProblem,
} from "../../contract/problem.ts";
import { judgeBy, restoreDestinations } from "../../contract/rules/destinations.ts";
import { fillLinkOrigin, fillSubdomain } from "../../contract/rules/link-address.ts";
import { writeAddress } from "../../contract/rules/link-path.ts";
import { isStorable } from "../../contract/text.ts";
import { drawSvg } from "../../qr/draw-qr.ts";
import { androidAppStore, iosAppStore } from "../../store/apps.ts";
import { findLink, findLinkAt } from "../../store/links.ts";
import {
  findTemplate,
  findVersion,
  listVersions,
  publishDraft,
  saveDraft,
  setLive,
  type TemplateTexts,
} from "../../store/page-templates.ts";
import type { Tenant } from "../../store/tables.ts";
import { pageTimeLimit_ms, type RunQueued } from "../../template/check-queue.ts";
import type { CheckTiming } from "../../template/check-template.ts";
import { createLocator } from "../../template/line-and-column.ts";
import type { PageLink } from "../../template/page-input.ts";
import {
  decideVisit,
  hasDeviceScript,
  type Platform,
  type VisitedLink,
  type VisitOptions,
} from "../../visit/decide-visit.ts";
import {
  listPageButtons,
  listPhoneStores,
  type PageButtonOptions,
} from "../../visit/page-buttons.ts";
import { readAgent, readPlatform } from "../../visit/read-platform.ts";
import {
  readTenant,
  writeTenant,
  requireCondition,
  type GroupHandlers,
  type WriteCall,
  type Precondition,
} from "../handler.ts";
import { createIdAndTime, type IdAndTime } from "../ids.ts";
import { requireScope } from "../keys.ts";
import { blankLink, requireFreeLink, settleLink } from "../write-link.ts";

/** Handles calls for the page template: its draft, its versions and previews of the page. */
export const pageTemplateHandlers: GroupHandlers<typeof pageTemplate> = {
  save: async (call) => {
    const { isFirst, template } = await changeDraft(call, call.body, "save", saveDraft);
    return { body: template, ...(isFirst && { status: 201 }) };
  },

  publish: async (call) => {
    const { template } = await changeDraft(
      call,
      call.body,
      "publish",
      async (tenant, idAndTime, text) => {
        await saveDraft(tenant, idAndTime, text);
        await publishDraft(tenant, createIdAndTime(call.services), text);
      },
    );
    return { body: template };
  },

  unpublish: async (call) => ({
    body: await writeTenant(call, async (tenant) => {
      requireShownTemplate(call.precondition, await readTemplate(tenant));
      await setLive(tenant, null, call.services.clock.now());
      return readTemplate(tenant);
    }),
  }),

  versions: async (call) => ({ body: { versions: [...(await listVersions(readTenant(call)))] } }),

  version: async (call) => ({ body: await readVersion(readTenant(call), call.params.id) }),

  restore: async (call) => ({
    body: await writeTenant(call, async (tenant) => {
      const version = await readVersion(tenant, call.params.id);
      requireShownTemplate(call.precondition, await readTemplate(tenant));
      await saveDraft(tenant, createIdAndTime(call.services), version);
      return readTemplate(tenant);
    }),
  }),

  preview: (call) => {
    if (call.body.link_id !== undefined) requireScope(call.caller, pageTemplate.preview.link_scope);
    return previewPage(call);
  },
};

async function readTemplate(tenant: Tenant) {
  const template = await findTemplate(tenant);
  if (template === undefined) throw notFound(messages.template_not_found);
  return template;
}

async function readVersion(tenant: Tenant, id: string) {
  const version = await findVersion(tenant, id);
  if (version === undefined) throw notFound(messages.template_version_not_found);
  return version;
}

type PagePreviewCall = WriteCall & {
  readonly body: Body<typeof pageTemplate.preview>;
  readonly headers: ApiRequest["headers"];
};

type PreviewReply = { readonly body: string; readonly headers: Readonly<Record<string, string>> };

/** Renders a link's page. Nothing is saved or counted as a click. */
async function previewPage(call: PagePreviewCall): Promise<PreviewReply> {
  const { services, caller, body: fields } = call;
  const tenant = readTenant(call);
  const template = await import("../../template/link-page.ts");
  const { starter } = await import("../../template/starter-template.ts");
  const subject = await chooseSubject(tenant, call);
  const text = fillFromDraft(fields, await findTemplate(tenant), starter);

  const { link, apps } = subject;
  const platform = choosePlatform(readAgent(call.headers));
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
    // Only the project's team sees previews, so they are not translated.
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
 * Returns the link as saving these fields would store it. Checks permissions and rules, but stores
 * nothing, claims no path and registers no app.
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
  const { sampleApps, sampleLink } = await import("../../template/sample-links.ts");
  const { ios, android } = sampleApps;
  return {
    link: sampleLink,
    apps: { ios_app: { id: "", ...ios }, android_app: { id: "", fingerprints: [], ...android } },
  };
}

/** Fills omitted fields from the saved draft, or from the starter template for an empty draft. */
function fillFromDraft(
  { body, css }: PagePreviewCall["body"],
  draft: TemplateTexts | undefined,
  starter: TemplateTexts,
): TemplateTexts {
  const isEmpty = draft === undefined || (draft.body === "" && draft.css === "");
  const saved = isEmpty ? starter : draft;
  return { body: body ?? saved.body, css: css ?? saved.css };
}

/** Clients other than browsers get the iOS page, because pages are made for phones. */
function choosePlatform(agent: string): Platform {
  return agent.startsWith("Mozilla/") ? readPlatform(agent) : "ios";
}

/** Returns the store links and QR code that desktop visitors see if a link has no desktop URL. */
async function findPhoneWays(
  { link, apps }: PreviewSubject,
  options: VisitOptions & Pick<PageButtonOptions, "address">,
) {
  if (decideVisit(link, apps, { platform: "desktop" }).action !== "default_page") return undefined;
  const stores = listPhoneStores(link, apps, options);
  return stores && { stores, code: await drawSvg(options.address) };
}

/** Lists the page's buttons. If the link would redirect, the preview shows a button instead. */
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

type DraftChange = { readonly isFirst: boolean; readonly template: PageTemplate };

type WriteDraft = (tenant: Tenant, idAndTime: IdAndTime, text: TemplateTexts) => Promise<void>;

const mostAttempts = 5;

/**
 * Applies the fields to the draft, checks the result, and calls `write`. The slow check runs before
 * the transaction, and is repeated if the draft changes in between.
 */
export async function changeDraft(
  call: WriteCall,
  fields: TemplateFields,
  purpose: "save" | "publish",
  write: WriteDraft,
): Promise<DraftChange> {
  for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
    const known = await findTemplate(readTenant(call));
    const checked = applyFields(known, fields, purpose);
    const { waitInQueue, clock } = call.services;
    await waitInQueue(call, async (runQueued) => {
      await requireValidTemplate(checked, { runQueued, monotonic: clock.monotonic });
      // An unchanged body may keep URLs that the project's settings no longer allow.
      const kept = purpose === "save" ? known?.body : known?.live_version?.body;
      if (checked.body !== kept) await requireDestinations(call, checked.body, runQueued);
    });
    const changed = await writeTenant(call, async (tenant): Promise<DraftChange | undefined> => {
      const before = await findTemplate(tenant);
      requireShownTemplate(call.precondition, before);
      const { body, css } = applyFields(before, fields, purpose);
      if (body !== checked.body || css !== checked.css) return undefined;
      // Saving an unchanged draft writes nothing, not even a new date.
      const isSame = before?.body === body && before.css === css;
      if (purpose === "save" && isSame) return { isFirst: false, template: before };
      await write(tenant, createIdAndTime(call.services), { body, css });
      const template = await findTemplate(tenant);
      if (template === undefined) throw new Error("a saved template could not be read back");
      return { isFirst: before === undefined, template };
    });
    if (changed !== undefined) return changed;
  }
  throw overloaded();
}

/**
 * Checks the precondition. Accepts the template's ETag, and the ETag that callers without access to
 * drafts receive.
 */
function requireShownTemplate(
  precondition: Precondition,
  template: PageTemplate | undefined,
): void {
  if (template === undefined) return requireAbsent(precondition);
  const live_id = template.live_version?.id ?? null;
  const states = [template, undefined].map((draft) => describeTemplateState(draft, live_id));
  requireCondition(precondition, ...states);
}

/**
 * Checks the precondition if no template exists. Callers without access to drafts receive the same
 * ETag for no template and for an unpublished template, so this ETag is accepted.
 */
function requireAbsent({ tags, mustBeAbsent }: Precondition): void {
  if (mustBeAbsent || tags === undefined || tags.includes("*")) {
    return requireCondition({ tags, mustBeAbsent });
  }
  requireCondition({ tags, mustBeAbsent }, describeTemplateState(undefined, null));
}

/** Rejects a template with links to hosts that the project's settings forbid. */
async function requireDestinations(
  { caller }: WriteCall,
  body: string,
  runQueued: RunQueued,
): Promise<void> {
  const destinations = restoreDestinations(caller.project.destinations);
  if (destinations === undefined) return;
  const { findForeignAddresses } = await import("../../template/find-foreign-addresses.ts");
  const problems = await runQueued(() => findForeignAddresses(body, judgeBy(destinations)));
  if (problems.length > 0) throw templateRefused(problems);
}

/** Applies the call's fields to the draft. Omitted fields stay unchanged. */
function applyFields(
  before: PageTemplate | undefined,
  fields: TemplateFields,
  purpose: "save" | "publish",
): TemplateTexts {
  const isNothing = fields.body === undefined && fields.css === undefined;
  if (before === undefined && purpose === "publish" && isNothing) {
    throw notFound(messages.template_not_found);
  }
  return { body: fields.body ?? before?.body ?? "", css: fields.css ?? before?.css ?? "" };
}

async function requireValidTemplate(
  text: TemplateTexts,
  { runQueued, monotonic }: CheckTiming,
): Promise<void> {
  const storageFaults = await runQueued(() => [
    ...findStorageFaults("body", text.body),
    ...findStorageFaults("css", text.css),
  ]);
  // Imported only here, because the parsers are large and most calls do not need them.
  const { checkTemplate } = await import("../../template/check-template.ts");
  const read = { body: readChecked("body", text.body), css: readChecked("css", text.css) };
  const problems = await checkTemplate(read, { runQueued, monotonic });
  if (storageFaults.length === 0 && problems.length === 0) return;
  // The message omits the positions of storage problems. They are only in `problems`.
  const clauses = storageFaults.map(({ field, message }) => ({ field, message }));
  const { message } = templateRefused([...clauses, ...problems]);
  throw new Problem(422, message, { problems: [...storageFaults, ...problems] });
}

type TemplateField = keyof TemplateTexts;

const most_bytes = { body: limits.template_body_bytes, css: limits.template_css_bytes } as const;

/** Finds characters that cannot be stored, and text beyond the size limit. */
function findStorageFaults(field: TemplateField, text: string): TextProblem[] {
  const place = (offset: number, fault: string) => ({
    ...makeFieldProblem(field, fault),
    ...createLocator(text)(offset),
  });
  const faults: TextProblem[] = [];
  if (!isStorable(text)) {
    faults.push(place(findUnstorable(text), "contains characters that cannot be stored"));
  }
  const most = most_bytes[field];
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(most));
  if (read < text.length) {
    const long = isCheckable(field, text) ? "too long" : "too long to check";
    faults.push(place(read, `is ${long} (maximum is ${most} bytes)`));
  }
  return faults;
}

function findUnstorable(text: string): number {
  let offset = 0;
  for (const character of text) {
    if (!isStorable(character)) break;
    offset += character.length;
  }
  return offset;
}

/** Whether a field is short enough to check. The maximum is slightly above the size limit. */
function isCheckable(field: TemplateField, text: string): boolean {
  return text.length <= most_bytes[field] * 1.25;
}

/** Replaces characters that cannot be stored with spaces, so that error positions stay correct. */
function readChecked(field: TemplateField, text: string): string {
  if (!isCheckable(field, text)) return "";
  if (isStorable(text)) return text;
  return Array.from(text, (character) => (isStorable(character) ? character : " ")).join("");
}
