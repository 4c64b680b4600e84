import type { Account } from "./account.ts";
import { isAvailable, type Page, type Visit } from "./page.ts";
import { appPages } from "./pages/apps.ts";
import { auditPage } from "./pages/audit.ts";
import { deletedPage } from "./pages/deleted.ts";
import { domainPage } from "./pages/domain.ts";
import { helpPage } from "./pages/help.ts";
import { historyPages } from "./pages/history.ts";
import { importPage } from "./pages/import.ts";
import { jobPages } from "./pages/jobs.ts";
import { keyPages } from "./pages/keys.ts";
import { linkDraftPage, linkFramePage } from "./pages/link-preview.ts";
import { linkPages, linkQrPage } from "./pages/link.ts";
import { linksPage } from "./pages/links.ts";
import { planPage } from "./pages/plan.ts";
import { projectPages } from "./pages/projects.ts";
import { settingsPage } from "./pages/settings.ts";
import { severalPage } from "./pages/several.ts";
import { startPage } from "./pages/start.ts";
import { statisticsPage } from "./pages/statistics.ts";
import { templateFramePage } from "./pages/template-preview.ts";
import { templatePage } from "./pages/template.ts";
import { webhookPages } from "./pages/webhooks.ts";

/** Every page of the console, in the order of the menu. */
export const pages: readonly Page[] = [
  startPage,
  linksPage,
  severalPage,
  importPage,
  ...linkPages,
  linkQrPage,
  linkFramePage,
  linkDraftPage,
  statisticsPage,
  ...appPages,
  domainPage,
  deletedPage,
  templatePage,
  templateFramePage,
  ...projectPages,
  ...keyPages,
  ...webhookPages,
  planPage,
  ...jobPages,
  ...historyPages,
  auditPage,
  settingsPage,
  helpPage,
];

export function findPage(
  path: string,
  account: Account,
): readonly [Page | undefined, Visit["params"]] {
  for (const page of pages) {
    const found = page.path.exec(path);
    if (found === null || !isAvailable(page, account)) continue;
    return [page, { ...found.groups }];
  }
  return [undefined, {}];
}
