/** Addresses of links in the console. */

export const linkList = { name: "Links", address: "/links" };

export const idPattern = String.raw`/links/(?<id>[^/]+)`;

export const gone = { label: "link", list: linkList };
