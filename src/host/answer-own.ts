import { readQuery } from "../contract/rules/address-query.ts";
import { isReservedPath } from "../contract/rules/link-path.ts";
import { findAddressFault } from "../contract/rules/store-address.ts";
import { readUrl, writeForHeader } from "../contract/rules/web-address.ts";
import { associationPaths } from "../visit/association-files.ts";
import type { QrPictures } from "./answer-qr.ts";
import type { AnswerAssociationFile } from "./association-files.ts";
import type { HostedLinks } from "./hosted-links.ts";
import { asText, makeAnswer, redirectHeaders, type Answer } from "./http-answer.ts";
import type { Site } from "./sites.ts";

/** What the host answers at a path that no link has. */

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

export async function answerOwn(parts: OwnParts, asked: OwnRequest): Promise<Answer> {
  return (await answerFile(parts, asked)) ?? answerElse(asked);
}

/** No link can have the paths of these files. */
async function answerFile(
  { links, answerQr, answerAssociationFile }: OwnParts,
  { site, path, target, headers, findClient }: OwnRequest,
): Promise<Answer | undefined> {
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

const plainFiles: ReadonlyMap<string, Answer> = new Map([
  // Services that show links to people must read the tags; pages tell search engines to stay out.
  ["robots.txt", makeAnswer(200, { ...asText, ...cachedForDay }, "User-agent: *\nAllow: /\n")],
  ["favicon.ico", makeAnswer(204, cachedForDay)],
]);

/**
 * Without a link, a visitor is redirected where the project says, or sees a quiet page with its
 * name. It is the same whether a link was deleted or never made, and the next visit looks again, so
 * that a link that is made meanwhile works at once.
 */
async function answerElse({ site, path, headers }: OwnRequest): Promise<Answer> {
  const field = path === "" ? "home_url" : "not_found_url";
  // Programs that ask for such files take the page that they are redirected to for the file.
  const to = isReservedPath(path) ? undefined : readPage(site, field);
  if (to !== undefined) return makeAnswer(302, { location: to, ...redirectHeaders });
  const { makeQuietPage } = await import("./quiet-page.ts");
  const page = path === "" ? "home" : "not_found";
  return makeQuietPage(page, site.project.name, headers["accept-language"]);
}

/**
 * What the rules refuse now counts as missing, even if it was stored once: the project's host may
 * have another name since then.
 */
function readPage(site: Site, field: "home_url" | "not_found_url"): string | undefined {
  const address = site.project[field];
  if (address === null || findAddressFault(field, address) !== undefined) return undefined;
  const isOwn = site.hostnames.includes(readUrl(address)?.hostname ?? "");
  return isOwn ? undefined : writeForHeader(address);
}
