import { html, type Html } from "./html.ts";

/** Parts of a page that its script reads again while somebody looks at it. */

/** Requests that the script of a page sends by itself. */
export const followHeader = "x-waypost-follow";

/** Every so many seconds: more often while something runs. */
export function renderFollow(isRunning: boolean): Html {
  return html` data-follow="${isRunning ? 3 : 5}" tabindex="-1"`;
}
