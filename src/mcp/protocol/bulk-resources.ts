import { showHiddenIn } from "../../text/show-hidden.ts";
import type { KeyContext } from "../access/key-context.ts";
import { showPlanPage } from "../tools/bulk/show-plan.ts";
import { readBulkUri } from "../tools/bulk/uris.ts";
import { nameChangedApps } from "../tools/name-changed-apps.ts";
import type { Call } from "../tools/tool.ts";
import { nameVisible } from "../tools/toolbox.ts";
import type { ServerOptions } from "./server-options.ts";

/** What is too long for the result of a call: the rows of plans, and files of links. */

type Page = { readonly uri: string; readonly mimeType: string; readonly text: string };

/** Those of them that this configuration and this key have a tool for. */
export function listBulkTemplates({ toolbox, keyContext }: ServerOptions) {
  const names = nameVisible(toolbox, keyContext);
  return Object.entries(templates).flatMap(([tool, template]) =>
    names.has(tool) ? [template] : [],
  );
}

const templates = {
  plan_links: {
    uriTemplate: "waypost://plans/{id}/{page}",
    name: "plan_rows",
    title: "Rows of a plan",
    description: "What a plan would do, link by link, before and after.",
    mimeType: "application/json",
  },
  export_links: {
    uriTemplate: "waypost://exports/{id}/{page}",
    name: "export_page",
    title: "Page of an export",
    description: "A page of the file that export_links wrote, CSV or JSON.",
  },
} as const;

/** Undefined for an address that is no page of these, or of another key's. */
export async function readBulkPage(
  uri: string,
  owner: KeyContext,
  signal: AbortSignal,
): Promise<Page | undefined> {
  const asked = readBulkUri(uri);
  if (asked === undefined) return undefined;
  const { kind, id, page } = asked;
  if (kind === "plans") {
    const plan = await owner.bulk.findPlan(id, owner);
    if (plan === undefined) return undefined;
    const ask: Call["ask"] = (endpoint, input) => owner.call(endpoint, input, signal);
    const shown = await showPlanPage(plan, owner.bulk, page);
    const text = JSON.stringify(
      showHiddenIn(await nameChangedApps(shown, { ask, keyContext: owner })),
    );
    return { uri, mimeType: "application/json", text };
  }
  // A file is data, and is read exactly as it was written.
  const found = await owner.bulk.findExport(id, page, owner);
  return found && { uri, mimeType: found.type, text: found.text };
}
