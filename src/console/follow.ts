import { html, type Html } from "./html.ts";

/** Parts of a page that its script reads again while the page is visible. */

/** Every so many seconds: more often while something runs. */
export function renderFollow(isRunning: boolean): Html {
  return html` data-follow="${isRunning ? 3 : 5}" tabindex="-1"`;
}
