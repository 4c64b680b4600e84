import type { Account } from "../account.ts";
import { readPlatform, type Platform } from "../device.ts";
import { listChanged, readShown, readTyped, readValues } from "../form-fields.ts";
import type { Html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { showMissing } from "../parts.ts";
import { readParam, readRecord } from "../read.ts";
import { linkFields, writeChanges } from "./link-fields.ts";
import { gone, idPattern, linkList } from "./link-place.ts";
import {
  canDraft,
  newId,
  readShownText,
  renderCard,
  renderStage,
  unknownText,
} from "./link-preview.ts";
import { findKept, tooLong } from "./template-preview.ts";

/** What the form of a link would make of its page, while somebody types. Nothing of it is done. */
export const linkDraftPage: Page = {
  path: new RegExp(`^${idPattern}/draft$`),
  needs: ["create_link", "update_link"],
  // Whoever opens the address alone has typed nothing.
  show: ({ params }) =>
    Promise.resolve({ kind: "go", to: `/links/${encodeURIComponent(readParam(params, "id"))}` }),
  submit,
};

async function submit({ account, params }: Visit, form: Form): Promise<Reply> {
  const id = readParam(params, "id");
  if (!canDraft(account, id)) return showMissing(gone, linkList);
  const platform = readPlatform(form.read("platform"));
  const drawn = await drawDraft(account, { id, platform, form });
  const body = renderCard(account, { id, platform, ...drawn });
  return { kind: "page", title: "Preview", body, hasFrames: true };
}

type Wanted = { readonly id: string; readonly platform: Platform; readonly form: Form };

type Drawn = { readonly stage: readonly Html[]; readonly fault?: string };

async function drawDraft(account: Account, { id, platform, form }: Wanted): Promise<Drawn> {
  const [shown, was] =
    id === newId
      ? [{}, readValues(linkFields, {})]
      : [{ link_id: id }, readShown(linkFields, form)];
  const typed = readTyped(linkFields, form);
  const text = await readShownText(account);
  if (text === undefined) return { stage: [], fault: unknownText };
  // As it is saved: what was not changed is left out.
  const fields = writeChanges(typed, listChanged(linkFields, was, typed));
  const answer = await account.previewDraft({ ...text, ...shown, platform }, fields);
  const page = answer.kind === "done" ? findKept(answer.result) : undefined;
  const why = answer.kind === "failed" ? `No preview yet: ${answer.failure.message}` : tooLong;
  if (page === undefined) return { stage: [], fault: why };
  const all = linkFields.map(({ name }) => name);
  const told = account.mayUse("explain_link")
    ? await account.call("explain_link", writeChanges(typed, all))
    : undefined;
  const visits = readRecord(told?.kind === "done" ? told.result : {}, "visits");
  return { stage: [renderStage(account, { platform, visits, source: `${page}?` })] };
}
