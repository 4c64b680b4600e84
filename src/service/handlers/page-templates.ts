import { messages } from "../../contract/messages.ts";
import { pageTemplate } from "../../contract/page-template.ts";
import { notFound } from "../../contract/problem.ts";
import {
  findTemplate,
  findVersion,
  listVersions,
  publishDraft,
  saveDraft,
  setLive,
} from "../../store/page-templates.ts";
import type { Tenant } from "../../store/tables.ts";
import { readTenant, writeTenant, type GroupHandlers } from "../handler.ts";
import { createIdAndTime } from "../ids.ts";
import { previewPage } from "../preview-page.ts";
import { requireScope } from "../require-access.ts";
import { changeDraft, requireShownTemplate } from "../write-template.ts";

/** Handles calls for page templates. */
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
