import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { format } from "prettier";
import { listFiles } from "../support/folders.ts";
import { writePlans, writeRoles, writeScopes, writeToolAccess } from "./reference/access.ts";
import { writeCommandFlags, writeCommands, writeExitCodes } from "./reference/commands.ts";
import { writeErrors } from "./reference/errors.ts";
import { writeEvents } from "./reference/events.ts";
import { writeMetrics } from "./reference/metrics.ts";
import {
  writeEndpoints,
  writeFilters,
  writeLinkFields,
  writeRateLimits,
  writeStatuses,
} from "./reference/rest.ts";
import { writeSettings } from "./reference/settings.ts";
import { writeApprovals, writeToolFilters, writeTools } from "./reference/tools.ts";

/** `npm run docs` writes the tables of docs/reference between their two marks. */

const tables: Readonly<Record<string, () => string | Promise<string>>> = {
  approvals: writeApprovals,
  "command flags": writeCommandFlags,
  commands: writeCommands,
  endpoints: writeEndpoints,
  errors: writeErrors,
  events: writeEvents,
  "exit codes": writeExitCodes,
  filters: writeFilters,
  "link fields": writeLinkFields,
  metrics: writeMetrics,
  plans: writePlans,
  "rate limits": writeRateLimits,
  roles: writeRoles,
  scopes: writeScopes,
  settings: writeSettings,
  statuses: writeStatuses,
  "tool access": writeToolAccess,
  "tool filters": writeToolFilters,
  tools: writeTools,
};

type Page = { readonly path: string; readonly text: string; readonly rendered: string };

export async function renderReference(): Promise<readonly Page[]> {
  const written = new Set<string>();
  const pages = listFiles("docs/reference").map(async (path) => {
    const text = readFileSync(path, "utf8");
    return { path, text, rendered: await renderPage(text, written) };
  });
  const rendered = await Promise.all(pages);
  const missing = Object.keys(tables).filter((name) => !written.has(name));
  if (missing.length > 0) throw new Error(`no page has the tables ${missing.join(", ")}`);
  return rendered;
}

const open = /<!-- generated: (.+?) -->/;
const close = "<!-- /generated -->";

async function renderPage(text: string, written: Set<string>): Promise<string> {
  const [first = "", ...parts] = text.split(/(?=<!-- generated: )/);
  const rendered = parts.map(async (part) => {
    const [mark, name = ""] = open.exec(part) ?? [];
    const [, rest] = part.split(close);
    const write = tables[name];
    if (write === undefined) throw new Error(`there is no table ${name}`);
    if (rest === undefined) throw new Error(`the table ${name} has no end`);
    written.add(name);
    return `${mark}\n\n${await write()}\n\n${close}${rest}`;
  });
  const page = [first, ...(await Promise.all(rendered))].join("");
  return format(page, { parser: "markdown", printWidth: 100 });
}

if (basename(process.argv[1] ?? "") === "docs.ts") {
  for (const { path, rendered } of await renderReference()) writeFileSync(path, rendered);
}
