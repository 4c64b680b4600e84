/** Addresses of links in the console, and the text for a link that does not exist. */

export const linkList = { name: "Links", address: "/links" };

export const idPattern = String.raw`/links/(?<id>[^/]+)`;

export const gone = { thing: "link", why: "It was deleted, or the address is wrong." };
