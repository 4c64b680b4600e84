import { html, type Html } from "./html.ts";

/** Parts of a page that are looked at again by the page itself, while somebody looks at it. */

/** By this a page says that nobody has asked for it but itself. */
export const followHeader = "x-waypost-follow";

/** After so many seconds: sooner where something runs. */
export function renderFollow(isRunning: boolean): Html {
  return html` data-follow="${isRunning ? 3 : 5}" tabindex="-1"`;
}
