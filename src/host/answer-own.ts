import { createHash } from "node:crypto";
import { readQuery } from "../contract/rules/address-query.ts";
import { isReservedPath } from "../contract/rules/link-path.ts";
import { findAddressFault } from "../contract/rules/store-address.ts";
import { readUrl, writeForHeader } from "../contract/rules/web-address.ts";
import { colours, font } from "../look/tokens.ts";
import { androidAppStore, iosAppStore, listBrowserPaths } from "../store/apps.ts";
import type { Tenant } from "../store/tables.ts";
import {
  associationPaths,
  writeAndroidFile,
  writeIosFile,
  type AssociationSystem,
} from "../visit/association-files.ts";
import type { QrPictures } from "./answer-qr.ts";
import { answerFile, makeTag, type CachedFile } from "./cached-file.ts";
import type { HostedLinks } from "./hosted-links.ts";
import {
  asText,
  makeAnswer,
  redirectHeaders,
  quietHeaders,
  type HostAnswer,
} from "./http-answer.ts";
import type { Site } from "./sites.ts";

/**
 * Answers all requests that are not visits to a link: for association files, QR codes, and unknown
 * paths.
 */

type OwnParts = {
  readonly links: HostedLinks;
  readonly answerQr: QrPictures["answer"];
  readonly answerAssociationFile: AnswerAssociationFile;
};

type OwnRequest = {
  readonly site: Site;
  readonly path: string;
  readonly target: string;
  readonly headers: { readonly [name in "if-none-match" | "accept-language"]?: string | undefined };
  readonly findClient: () => string;
};

export async function answerOwn(parts: OwnParts, request: OwnRequest): Promise<HostAnswer> {
  return (await answerOwnFile(parts, request)) ?? answerUnknown(request);
}

async function answerOwnFile(
  { links, answerQr, answerAssociationFile }: OwnParts,
  { site, path, target, headers, findClient }: OwnRequest,
): Promise<HostAnswer | undefined> {
  const ifNoneMatch = headers["if-none-match"];
  const system = associationFiles.get(path);
  if (system !== undefined) return answerAssociationFile(site, system, ifNoneMatch);
  const [, picturedPath] = /^(.+)\.qr$/i.exec(path) ?? [];
  if (picturedPath === undefined) return plainFiles.get(path);
  const pictured = await links.findLink({ site, path: picturedPath });
  if (pictured === undefined) return undefined;
  const query = readQuery(target);
  return answerQr({ site, path: picturedPath, query, client: findClient() }, ifNoneMatch);
}

const associationFiles = new Map(
  (["ios", "android"] as const).map((system) => [associationPaths[system].slice(1), system]),
);

const cachedForDay = { "cache-control": "public, max-age=86400" };

const plainFiles: ReadonlyMap<string, HostAnswer> = new Map([
  // Allows all crawlers, because services that create link previews must be able to read the pages.
  // A noindex header keeps the pages out of search engines.
  ["robots.txt", makeAnswer(200, { ...asText, ...cachedForDay }, "User-agent: *\nAllow: /\n")],
  ["favicon.ico", makeAnswer(204, cachedForDay)],
]);

/**
 * Redirects to the URL that the project has set for its home page or for unknown links. Without
 * such a URL, shows a plain page with the project's name. Deleted and unknown links get the same
 * response. It is not cached, so a link that is created later works at once.
 */
async function answerUnknown({ site, path, headers }: OwnRequest): Promise<HostAnswer> {
  const field = path === "" ? "home_url" : "not_found_url";
  // Do not redirect requests for reserved paths. A program that requests a file there would mistake
  // the page behind the redirect for the file.
  const to = isReservedPath(path) ? undefined : readPage(site, field);
  if (to !== undefined) return makeAnswer(302, { location: to, ...redirectHeaders });
  const { makeQuietPage } = await import("./quiet-page.ts");
  const page = path === "" ? "home" : "not_found";
  return makeQuietPage(page, site.project.name, headers["accept-language"]);
}

/**
 * Returns the URL of the project's own page, if that URL is still valid. The server's rules or the
 * project's host names may have changed since the URL was saved.
 */
function readPage(site: Site, field: "home_url" | "not_found_url"): string | undefined {
  const address = site.project[field];
  if (address === null || findAddressFault(field, address) !== undefined) return undefined;
  const isOwn = site.hostnames.includes(readUrl(address)?.hostname ?? "");
  return isOwn ? undefined : writeForHeader(address);
}

/** The maximum number of apps to read for an association file. More would exceed its size limit. */
const mostApps = 5000;

type AnswerAssociationFile = ReturnType<typeof createAssociationFiles>;

export function createAssociationFiles() {
  // The files of each site object. Any change to the project's apps or links creates a new site
  // object, so the files are rebuilt.
  const files = { ios: createFiles(), android: createFiles() };
  return async (site: Site, system: AssociationSystem, ifNoneMatch: string | undefined) => {
    const file = files[system].get(site) ?? (await buildFile(site.tenant, system));
    files[system].set(site, file);
    return answerFile(file, ifNoneMatch);
  };
}

const createFiles = () => new WeakMap<Site, CachedFile>();

async function buildFile(tenant: Tenant, system: AssociationSystem): Promise<CachedFile> {
  const { paths } = await listBrowserPaths(tenant);
  const { text } =
    system === "ios"
      ? writeIosFile((await iosAppStore.list(tenant, everyApp)).items, paths)
      : writeAndroidFile((await androidAppStore.list(tenant, everyApp)).items, paths);
  return { type: "application/json", etag: makeTag(text), read: () => Promise.resolve(text) };
}

const everyApp = {
  page: 1,
  limit: mostApps,
  filters: [],
  sorts: [{ field: "created_at", direction: "asc" }],
} as const;

const { ground, ink, soft } = colours;
const style = [
  "body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem;",
  `box-sizing:border-box;font:1.125rem/1.5 ${font};color:${ink[0]};background:${ground[0]}}`,
  `main{text-align:center}h1{font-size:1.5rem;margin:0 0 .5rem}p{margin:0;color:${soft[0]}}`,
  `@media(prefers-color-scheme:dark){body{color:${ink[1]};background:${ground[1]}}`,
  `p{color:${soft[1]}}}`,
].join("");

const html = [
  '<!doctype html><html lang="en"><head><meta charset="utf-8">',
  '<meta name="viewport" content="width=device-width,initial-scale=1">',
  `<title>Link not found</title><style>${style}</style></head>`,
  "<body><main><h1>Link not found</h1><p>This link does not exist, or it no longer works.</p>",
  "</main></body></html>",
].join("");

const styleHash = createHash("sha256").update(style).digest("base64");

/**
 * Unknown and suspended projects have the same page, so that the page does not reveal which
 * projects exist.
 */
export const notFoundPage = makeAnswer(
  404,
  {
    ...quietHeaders,
    "content-security-policy": `default-src 'none'; style-src 'sha256-${styleHash}'`,
  },
  html,
);
