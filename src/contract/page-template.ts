import * as z from "zod";
import { asRead, asUpdate, type CallAnswer, type Endpoint, type ReceivedData } from "./endpoint.ts";
import { byId, storedId } from "./fields.ts";
import { linkFields } from "./links.ts";

/** The endpoints of a project's page template. See docs/templates.md. */

const version = z.looseObject({
  id: z.string(),
  published_at: z.string(),
  published_by: z.string().optional(),
  live: z.boolean(),
});
export type TemplateVersion = z.output<typeof version>;

const wholeVersion = version.extend({ body: z.string(), css: z.string() });
export type WholeTemplateVersion = z.output<typeof wholeVersion>;
export type ReadTemplateVersion = ReceivedData<WholeTemplateVersion>;

const template = z.looseObject({
  id: storedId,
  body: z.string(),
  css: z.string(),
  unpublished_changes: z.boolean(),
  live_version: wholeVersion.nullable(),
  created_at: z.string(),
  updated_at: z.string(),
});
export type PageTemplate = z.output<typeof template>;

/** Omitting a field keeps its value, an empty string clears it, and null is rejected. */
const templateFields = z.object({
  body: z
    .string()
    .optional()
    .describe("HTML and Liquid with {% store_buttons %} at the top level, up to 65,536 bytes."),
  css: z.string().optional().describe("Up to 32,768 bytes."),
});
export type TemplateFields = z.output<typeof templateFields>;

const previewFields = templateFields.extend({
  link_id: z.string().optional().describe("UUID of the link to show; default: a sample."),
  link_fields: linkFields
    .optional()
    .describe("An unsaved link or, with link_id, changes to that link."),
});

const base = { auth: "project", role: "manager", plan: "pro", feature: "page_templates" } as const;

export const pageTemplate = {
  save: {
    ...base,
    ...asUpdate,
    path: "/page_template",
    tool: "save_template",
    title: "Save the page template's draft",
    summary: "Save the draft of the page template; the live page stays as it is.",
    scope: "page_templates.update",
    budget: "page_template_writes",
    patch_only: true,
    body: templateFields,
    optional_wrapper: "page_template",
    success: { status: 200, also: 201 },
    response: template,
  },
  publish: {
    ...base,
    ...asUpdate,
    method: "POST",
    path: "/page_template/publish",
    tool: "publish_template",
    title: "Publish the page template",
    summary: "Make the draft the page of all the project's links.",
    scope: "page_templates.publish",
    budget: "page_template_writes",
    body: templateFields,
    optional_wrapper: "page_template",
    body_optional: true,
    may_miss: true,
    response: template,
    effect: "destroy",
    // Each call adds a version, and may delete the oldest.
    idempotent: false,
  },
  unpublish: {
    ...base,
    ...asUpdate,
    method: "POST",
    path: "/page_template/unpublish",
    tool: "unpublish_template",
    title: "Unpublish the page template",
    summary: "Switch links to the default page. The draft and versions stay.",
    scope: "page_templates.publish",
    may_miss: true,
    response: template,
    effect: "destroy",
  },
  versions: {
    ...base,
    ...asRead,
    path: "/page_template/versions",
    tool: "list_template_versions",
    title: "List the page template's versions",
    summary: "List the last 20 published versions, newest first.",
    scope: "page_templates.show",
    response: z.looseObject({ versions: z.array(version) }),
  },
  version: {
    ...base,
    ...asRead,
    path: "/page_template/versions/:id",
    tool: "get_template_version",
    title: "Get a version of the page template",
    summary: "Read one published version with its body and css.",
    scope: "page_templates.show",
    params: byId,
    response: wholeVersion,
  },
  restore: {
    ...base,
    ...asUpdate,
    method: "POST",
    path: "/page_template/versions/:id/restore",
    documented: false,
    tool: "restore_template_version",
    title: "Restore a version of the page template",
    summary: "Replace the draft with a published version; nothing is published.",
    scope: "page_templates.update",
    params: byId,
    response: template,
    effect: "destroy",
  },
  preview: {
    ...base,
    ...asRead,
    method: "POST",
    path: "/page_template/preview",
    documented: false,
    tool: "preview_template",
    title: "Preview the page template",
    summary: "Show a link's page as HTML, from the given text or the draft. Nothing is saved.",
    scope: "page_templates.show",
    link_scope: "links.show",
    budget: "page_template_writes",
    body: previewFields,
    // Only the console's live preview shows unsaved fields. Assistants save the link instead, and
    // can undo the change.
    not_in_tool: ["link_fields"],
    optional_wrapper: "page_template",
    body_optional: true,
    type: "text/html",
    response: z.string().min(1),
  },
} as const satisfies Record<string, Endpoint>;

/** The response to a write. A remote server may omit fields. */
export type WrittenTemplate = CallAnswer<typeof pageTemplate.save>;
