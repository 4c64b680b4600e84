import type { JsonObject } from "../../contract/json.ts";
import type { Account, Failure, FieldProblem } from "../account.ts";
import {
  readPlatform,
  renderDevice,
  renderLooks,
  renderPlatforms,
  showHost,
  type Platform,
} from "../device.ts";
import { looks, readLook, writeFramed, type Look } from "../framed-page.ts";
import { html, type Html } from "../html.ts";
import type { Form, Page, Visit } from "../page.ts";
import { renderOption } from "../parts.ts";
import { readRecord, readRecords, readText } from "../read.ts";
import type { TemplateText } from "./template-text.ts";

/** How a template looks before it is anybody's page: which link's, on what, by day or by night. */

export type View = {
  readonly platform: Platform;
  readonly look: Look;
  /** A link's id, or the word for one that is made up; empty for the newest. */
  readonly link: string;
};

/** As it was chosen in the form, or stands in the address. */
export function readView({ searchParams }: URL, form: Form | undefined): View {
  const read = (name: string) =>
    form?.has(name) === true ? form.read(name) : searchParams.get(name);
  return {
    platform: readPlatform(read("platform")),
    look: readLook(read("look")),
    link: read("link") ?? "",
  };
}

/** What is chosen stays when a form has been sent. */
export function writeView({ platform, look, link }: View, done: string): string {
  const chosen = { done, platform, look, ...(link !== "" && { link }) };
  return `/template?${String(new URLSearchParams(chosen))}`;
}

type Choice = { readonly id: string; readonly name: string };

const sample: Choice = { id: "sample", name: "An example link" };
const mostLinks = 20;

/** Those that a template can be seen with. */
export async function listLinks({ mayUse, call }: Account): Promise<readonly Choice[]> {
  if (!mayUse("list_links") || !mayUse("get_link")) return [sample];
  const sort = { field: "created_at", direction: "desc" };
  const answer = await call("list_links", { limit: mostLinks, sort });
  const rows = answer.kind === "done" ? readRecords(answer.result, "links") : [];
  const links = rows.map((row) => {
    return { id: readText(row, "id"), name: readText(row, "name") || `/${readText(row, "path")}` };
  });
  return [...links, sample];
}

export function chooseLink(view: View, links: readonly Choice[]): View {
  return { ...view, link: view.link || (links[0]?.id ?? sample.id) };
}

export type Drawn = {
  /** Where the page is; undefined where there is none to be seen. */
  readonly page?: string | undefined;
  /** Why there is none. */
  readonly failure?: Failure;
  /** What is amiss with the page that there is. */
  readonly problems: readonly FieldProblem[];
};

export async function drawTemplate(
  { mayUse, call }: Account,
  text: TemplateText,
  { platform, link }: View,
): Promise<Drawn> {
  if (!mayUse("preview_template")) return { problems: [] };
  const shown = link === sample.id ? {} : { link_id: link };
  const answer = await call("preview_template", { ...text, ...shown, platform });
  if (answer.kind === "failed") {
    return { failure: answer.failure, problems: answer.failure.problems ?? [] };
  }
  if (answer.kind !== "done") return { problems: [] };
  const problems = readRecords(answer.result, "problems").map(readProblem);
  return { page: findKept(answer.result), problems };
}

/** Where a page that `preview_template` has made is seen in a frame; one too long is not kept. */
export function findKept(result: JsonObject): string | undefined {
  const token = readText(result, "preview_url").split("/").at(-1) ?? "";
  return token === "" ? undefined : `/template/page/${token}`;
}

export const tooLong = "This page is too long to preview.";

function readProblem(problem: JsonObject): FieldProblem {
  const { line, column } = problem;
  return {
    field: readText(problem, "field"),
    line: typeof line === "number" ? line : undefined,
    column: typeof column === "number" ? column : undefined,
    message: readText(problem, "message"),
  };
}

type Shown = { readonly view: View; readonly links: readonly Choice[]; readonly drawn: Drawn };

/** The choices are the editor's: they are sent with its text. */
export async function renderTemplatePreview(
  account: Account,
  { view, links, drawn: { page, failure } }: Shown,
): Promise<Html | string> {
  if (!account.mayUse("preview_template")) return "";
  const why = failure === undefined ? tooLong : "Fix the errors to see the page again.";
  const stage =
    page === undefined
      ? html`<p class="soft">${why}</p>`
      : looks.map((look) =>
          renderDevice({
            platform: view.platform,
            look,
            source: `${page}?look=${look}`,
            host: showHost(account.host),
          }),
        );
  return html`<section class="card looking" aria-labelledby="preview">
    <header>
      <h2 id="preview">Preview</h2>
      ${renderLooks(view.look, "editor")}
    </header>
    <div class="inside">
      ${renderPlatforms(view.platform, "editor")}
      <div class="with">
        ${await renderLinks(account, view.link, links)}
        <button form="editor" name="do" value="preview" class="show">Show</button>
      </div>
      <div class="stage" id="stage">${stage}</div>
    </div>
  </section>`;
}

async function renderLinks({ call }: Account, link: string, links: readonly Choice[]) {
  if (links.length === 1) return "";
  const isKnown = links.some(({ id }) => id === link);
  const all = isKnown ? links : [{ id: link, name: await nameLink(link, call) }, ...links];
  const options = all.map(({ id, name }) => renderOption(id, name, link));
  return html`<div class="field">
    <label class="hidden" for="link">Link</label>
    <select id="link" name="link" form="editor">
      ${options}
    </select>
  </div>`;
}

async function nameLink(id: string, call: Account["call"]): Promise<string> {
  const answer = await call("get_link", { id });
  const link = answer.kind === "done" ? readRecord(answer.result, "link") : {};
  return readText(link, "name") || readText(link, "path") || id;
}

export const templateFramePage: Page = {
  path: /^\/template\/page\/(?<token>[\w-]+)$/,
  needs: "preview_template",
  show: async ({ account, params, url }: Visit) => {
    const page = await account.findPreview(params["token"] ?? "");
    const look = readLook(url.searchParams.get("look"));
    return { kind: "frame", markup: writeFramed(page ?? over, look) };
  },
};

const over =
  '<!doctype html><meta name="color-scheme" content="light dark">' +
  "<p>This preview has expired. Previews are kept for ten minutes.</p>";
