import { readQuery } from "../contract/rules/address-query.ts";
import { isReservedPath } from "../contract/rules/link-path.ts";
import { findAddressFault } from "../contract/rules/store-address.ts";
import { readUrl, writeForHeader } from "../contract/rules/web-address.ts";
import { associationPaths } from "../visit/association-files.ts";
import type { QrPictures } from "./answer-qr.ts";
import type { AnswerAssociationFile } from "./association-files.ts";
import type { HostedLinks } from "./hosted-links.ts";
import { asText, makeAnswer, redirectHeaders, type HostAnswer } from "./http-answer.ts";
import type { Site } from "./sites.ts";

/**
 * Answers paths that no link has: association files, QR codes, and the pages for unknown addresses.
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
  return (await answerFile(parts, request)) ?? answerUnknown(request);
}

/** Answers the paths of files, which no link can have. */
async function answerFile(
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
  // Other services must be able to read the pages for link previews. A noindex header on each page
  // keeps it out of search engines.
  ["robots.txt", makeAnswer(200, { ...asText, ...cachedForDay }, "User-agent: *\nAllow: /\n")],
  ["favicon.ico", makeAnswer(204, cachedForDay)],
]);

/**
 * Without a link, visitors are redirected to the project's own page, or see a plain page with its
 * name. Deleted and unknown links look the same. The page is not cached, so a link that is created
 * meanwhile works at once.
 */
async function answerUnknown({ site, path, headers }: OwnRequest): Promise<HostAnswer> {
  const field = path === "" ? "home_url" : "not_found_url";
  // A program that requests a reserved path would mistake the page behind the redirect for the
  // file.
  const to = isReservedPath(path) ? undefined : readPage(site, field);
  if (to !== undefined) return makeAnswer(302, { location: to, ...redirectHeaders });
  const { makeQuietPage } = await import("./quiet-page.ts");
  const page = path === "" ? "home" : "not_found";
  return makeQuietPage(page, site.project.name, headers["accept-language"]);
}

/**
 * The project's page for this case, if its address is still valid. The rules or the project's host
 * names may have changed since the address was saved.
 */
function readPage(site: Site, field: "home_url" | "not_found_url"): string | undefined {
  const address = site.project[field];
  if (address === null || findAddressFault(field, address) !== undefined) return undefined;
  const isOwn = site.hostnames.includes(readUrl(address)?.hostname ?? "");
  return isOwn ? undefined : writeForHeader(address);
}
