import { html } from "../html.ts";
import type { Reply } from "../page.ts";

/** Where one link has its pages, and what is said where there is none. */

export const idPattern = String.raw`/links/(?<id>[^/]+)`;

export const gone: Reply = {
  kind: "page",
  status: 404,
  title: "Not found",
  body: html`<h1>This link is not there</h1>
    <p class="soft">It was deleted, or its address is another one.</p>
    <p><a class="button" href="/links">Show all links</a></p>`,
};
