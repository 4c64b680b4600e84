import { hashValue } from "../../text/digest.ts";
import type { Account, CallError } from "../account.ts";
import {
  looks,
  readLook,
  readPlatform,
  renderDevice,
  renderLooks,
  renderPlatforms,
  writeFramed,
  type Look,
  type DevicePlatform,
} from "../device.ts";
import { html, type Part } from "../html.ts";
import type { Form, Page } from "../page.ts";
import { renderCard, renderOption, showHost } from "../parts.ts";
import type { ShownProblem, TemplatePreview } from "../records.ts";

/** Previews a page template before it is published. */

export type View = {
  readonly platform: DevicePlatform;
  readonly look: Look;
  /** A link's ID, or `sample` for example data; empty for the newest link. */
  readonly link: string;
};

/** Reads the preview's options from the form, or from the query if no form was sent. */
export function readView({ searchParams }: URL, form: Form | undefined): View {
  const read = (name: string) =>
    form?.has(name) === true ? form.read(name) : searchParams.get(name);
  return {
    platform: readPlatform(read("platform")),
    look: readLook(read("look")),
    link: read("link") ?? "",
  };
}

export function writeView({ platform, look, link }: View, done: string): string {
  const chosen = { done, platform, look, ...(link !== "" && { link }) };
  return `/template?${String(new URLSearchParams(chosen))}`;
}

type PreviewLink = { readonly id: string; readonly name: string };

const sample: PreviewLink = { id: "sample", name: "An example link" };
const mostLinks = 20;

export async function listLinks({ mayUse, tryCall }: Account): Promise<readonly PreviewLink[]> {
  if (!mayUse("get_link")) return [sample];
  const sort = { field: "created_at", direction: "desc" };
  const { links = [] } = (await tryCall("list_links", { limit: mostLinks, sort })) ?? {};
  const choices = links.map(({ id, name, path = "" }) => ({ id, name: name || `/${path}` }));
  return [...choices, sample];
}

export function chooseLink(view: View, links: readonly PreviewLink[]): View {
  return { ...view, link: view.link || (links[0]?.id ?? sample.id) };
}

export type RenderedPreview = {
  /** The URL of the rendered page; undefined if it cannot be shown. */
  readonly page?: string | undefined;
  readonly failure?: CallError;
  readonly problems: readonly ShownProblem[];
};

export async function drawTemplate(
  { mayUse, call }: Account,
  text: EditedTemplate,
  { platform, link }: View,
): Promise<RenderedPreview> {
  if (!mayUse("preview_template")) return { problems: [] };
  const shown = link === sample.id ? {} : { link_id: link };
  const answer = await call("preview_template", { ...text, ...shown, platform });
  if (answer.kind === "failed") {
    return { failure: answer.failure, problems: answer.failure.problems ?? [] };
  }
  return { page: findKept(answer.result), problems: answer.result.problems ?? [] };
}

/** Returns the preview's URL for the frame; undefined if the page was too long to store. */
export function findKept({ preview_url = "" }: TemplatePreview): string | undefined {
  const token = preview_url.split("/").at(-1) ?? "";
  return token === "" ? undefined : `/template/page/${token}`;
}

export const tooLong = "This page is too long to preview.";

type PreviewPanel = {
  readonly view: View;
  readonly links: readonly PreviewLink[];
  readonly drawn: RenderedPreview;
};

/** The preview's controls belong to the editor's form, so their values are sent with the text. */
export async function renderTemplatePreview(
  account: Account,
  { view, links, drawn: { page, failure } }: PreviewPanel,
): Promise<Part> {
  if (!account.mayUse("preview_template")) return "";
  const { platform } = view;
  const host = showHost(account.host);
  const why = failure === undefined ? tooLong : "Fix the errors to see the page again.";
  const stage =
    page === undefined
      ? html`<p class="soft">${why}</p>`
      : looks.map((look) => renderDevice({ platform, look, source: `${page}?look=${look}`, host }));
  return renderCard("Preview", {
    look: "looking",
    actions: renderLooks(view.look, "editor"),
    inside: html`${renderPlatforms(platform, "editor")}
      <div class="with">
        ${links.length > 1 && (await renderLinks(account, view.link, links))}
        <button form="editor" name="do" value="preview" class="show">Show</button>
      </div>
      <div class="stage" id="stage">${stage}</div>`,
  });
}

async function renderLinks(account: Account, link: string, links: readonly PreviewLink[]) {
  const isKnown = links.some(({ id }) => id === link);
  const all = isKnown ? links : [{ id: link, name: await nameLink(link, account) }, ...links];
  return html`<div class="field">
    <label class="hidden" for="link">Link</label>
    <select id="link" name="link" form="editor">
      ${all.map(({ id, name }) => renderOption(id, name, link))}
    </select>
  </div>`;
}

async function nameLink(id: string, { tryCall }: Account): Promise<string> {
  const { link } = (await tryCall("get_link", { id })) ?? {};
  return link?.name || link?.path || id;
}

export const templateFramePage: Page = {
  path: /^\/template\/page\/(?<token>[\w-]+)$/,
  needs: "preview_template",
  show: async ({ account, params, url }) => {
    const page = await account.findPreview(params["token"] ?? "");
    const look = readLook(url.searchParams.get("look"));
    return { kind: "frame", markup: writeFramed(page ?? expired, look) };
  },
};

const expired =
  '<!doctype html><meta name="color-scheme" content="light dark">' +
  "<p>This preview has expired. Previews are kept for ten minutes.</p>";

export type EditedTemplate = { readonly body: string; readonly css: string };

/** Returns undefined if the form has no template text. */
export function readTyped(form: Form | undefined): EditedTemplate | undefined {
  if (form === undefined || !(form.has("body") && form.has("css"))) return undefined;
  const read = (name: string) => form.read(name).replaceAll("\r\n", "\n");
  return { body: read("body"), css: read("css") };
}

export function printText({ body, css }: EditedTemplate): string {
  return hashValue([body, css]);
}

type Version =
  | { readonly kind: "text"; readonly text: EditedTemplate }
  | { readonly kind: "none" }
  | { readonly kind: "failed"; readonly failure: CallError };

/** `id` is the ID of a version, or `draft`, `live` or `starter`. */
export async function readVersion({ call }: Account, id: string): Promise<Version> {
  const answer = await call("get_template_version", { id });
  if (answer.kind === "failed") {
    return answer.failure.code === "not_found" ? { kind: "none" } : answer;
  }
  const { body = "", css = "" } = answer.result.version;
  return { kind: "text", text: { body, css } };
}
