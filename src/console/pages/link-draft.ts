import type { Account } from "../account.ts";
import { readPlatform, type Platform } from "../device.ts";
import { listChanged, readShown, readTyped, readValues } from "../form-fields.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { readParam } from "../read-address.ts";
import { showGone } from "../record-page.ts";
import { linkFields, writeChanges } from "./link-fields.ts";
import { gone, idPattern } from "./link-place.ts";
import {
  canDraft,
  newId,
  readShownText,
  renderPreview,
  renderStage,
  unknownText,
} from "./link-preview.ts";
import { findKept, tooLong } from "./template-preview.ts";

/** A preview of the page for what is typed in a link's form. Nothing is saved. */
export const linkDraftPage: Page = {
  path: new RegExp(`^${idPattern}/draft$`),
  needs: ["create_link", "update_link"],
  show: ({ params }) => {
    return { kind: "go", to: `/links/${encodeURIComponent(readParam(params, "id"))}` };
  },
  submit,
};

async function submit({ account, params }: Visit, form: Form): Promise<Reply> {
  const id = readParam(params, "id");
  if (!canDraft(account, id)) return showGone(gone);
  const platform = readPlatform(form.read("platform"));
  const drawn = await drawDraft(account, id, platform, form);
  const preview = typeof drawn === "string" ? { stage: [], fault: drawn } : { stage: [drawn] };
  const body = renderPreview(account, { id, platform, ...preview });
  return { kind: "page", title: "Preview", body, hasFrames: true };
}

/** Why it cannot be drawn, or the drawing. */
async function drawDraft(account: Account, id: string, platform: Platform, form: Form) {
  const isNew = id === newId;
  const was = isNew ? readValues(linkFields, {}) : readShown(linkFields, form);
  const typed = readTyped(linkFields, form);
  const text = await readShownText(account);
  if (text === undefined) return unknownText;
  // As when saving, unchanged fields are left out.
  const fields = writeChanges(typed, listChanged(linkFields, was, typed));
  const link = isNew ? {} : { link_id: id };
  const args = { ...text, ...link, platform };
  const answer = await account.call("preview_template", args, { link_fields: fields });
  if (answer.kind === "failed") return `No preview yet: ${answer.failure.message}`;
  const page = findKept(answer.result);
  if (page === undefined) return tooLong;
  const all = linkFields.map(({ name }) => name);
  const explained = await account.tryCall("explain_link", writeChanges(typed, all));
  return [renderStage(account, { platform, visits: explained?.visits, source: `${page}?` })];
}
