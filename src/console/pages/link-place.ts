import { tellGone } from "../parts.ts";

/** Where one link has its pages, and what is said where there is none. */

export const idPattern = String.raw`/links/(?<id>[^/]+)`;

export const gone = tellGone({
  thing: "link",
  why: "It was deleted, or the address is wrong.",
  list: "links",
  address: "/links",
});
