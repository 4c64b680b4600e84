import { colours } from "./tokens.ts";

/** The logo of Waypost: a signpost. */

const flag = "M4 4.5h6l2 2-2 2H4zM7.2 8.5v4";

/** The logo is hidden from screen readers, because the product's name is next to it. */
export const mark =
  '<svg class="mark" viewBox="0 0 16 16" aria-hidden="true">' +
  `<rect width="16" height="16" rx="4"/><path d="${flag}"/></svg>`;

/** The favicon, as a data: URL that needs no request. */
export const icon =
  "data:image/svg+xml,%3Csvg xmlns='http:%2F%2Fwww.w3.org%2F2000%2Fsvg' viewBox='0 0 16 16'%3E" +
  `%3Crect width='16' height='16' rx='4' fill='${colours.brand[0].replace("#", "%23")}'/%3E` +
  `%3Cpath d='${flag}' fill='%23fff' stroke='%23fff' stroke-width='1.4'/%3E%3C/svg%3E`;
