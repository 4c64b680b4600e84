import type { Account } from "./account.ts";
import type { Page, Visit } from "./page.ts";
import { deletedLinksPage } from "./pages/deleted-links.ts";
import { deleteLinkPage, linkPage, linkQrPage } from "./pages/link.ts";
import { linksPage } from "./pages/links.ts";
import { newLinkPage } from "./pages/new-link.ts";
import { startPage } from "./pages/start.ts";

/** Every page of the console, in the order in which their entries stand. */
export const pages: readonly Page[] = [
  startPage,
  linksPage,
  newLinkPage,
  deletedLinksPage,
  linkPage,
  linkQrPage,
  deleteLinkPage,
];

/** A page that the key may not use is not there. */
export function findPage(
  path: string,
  { mayUse }: Account,
): readonly [Page | undefined, Visit["params"]] {
  for (const page of pages) {
    const found = page.path.exec(path);
    if (found === null || (page.needs !== undefined && !mayUse(page.needs))) continue;
    return [page, { ...found.groups }];
  }
  return [undefined, {}];
}
