import type { FilterInput } from "../../contract/filters.ts";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { showHidden } from "../../text/show-hidden.ts";
import { writeFieldsInWords, writeLabel } from "../../text/write-label.ts";
import { html, type Html } from "../html.ts";
import { renderPaging } from "../list-parts.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { goToPlan, renderFault, renderHidden, renderPost } from "../parts.ts";
import { readNumber, readPage, readRecord, readRecords, readText } from "../read.ts";
import { readFilter, writeFilter, writeLinkQuery } from "./link-query.ts";

/** What is wrong with the links, the worst first, and the way to mend each of it. */
export const auditPage: Page = {
  path: /^\/audit$/,
  entry: { name: "Audit", address: "/audit", icon: "M3 8.5 6.5 12 13 4.5", group: "Service" },
  needs: "audit_links",
  show: (visit) => show(visit),
  submit: planFix,
};

/** So many are looked at while the page loads; more when somebody asks for it. */
const mostUnasked = 5000;

async function show(visit: Visit, fault?: string): Promise<Reply> {
  const { url } = visit;
  const filters = url.searchParams.getAll("filter").map(readFilter);
  const count = url.searchParams.has("look") ? 0 : await countLinks(visit, filters);
  const body = count > mostUnasked ? renderStart(count) : await renderLook(visit, filters);
  return {
    kind: "page",
    title: "Audit",
    status: fault === undefined ? 200 : 422,
    body: html`<div class="head">
        <h1>Audit</h1>
      </div>
      ${renderFault(fault)} ${body}`,
  };
}

async function countLinks({ account }: Visit, filters: readonly FilterInput[]): Promise<number> {
  const some = filters.length > 0 && { filters };
  const answer = await account.call("list_links", { ...some, limit: 1 });
  return answer.kind === "done" ? readNumber(readRecord(answer.result, "meta"), "count") : 0;
}

function renderStart(count: number): Html {
  return html`<section class="card" aria-label="Audit">
    <div class="empty">
      <p>
        Waypost will check all ${count.toLocaleString("en")} links. This takes up to twenty seconds
        and changes nothing.
      </p>
      <a class="button main" href="/audit?look=1">Check links</a>
    </div>
  </section>`;
}

async function renderLook(visit: Visit, filters: readonly FilterInput[]): Promise<Html> {
  const page = readPage(visit.url);
  const some = filters.length > 0 && { filters };
  const answer = await visit.account.call("audit_links", { ...some, page });
  if (answer.kind === "failed") return html`${renderFault(answer.failure.message)}`;
  if (answer.kind === "asks") return html``;
  const audit = readRecord(answer.result, "audit");
  const meta = readRecord(answer.result, "meta");
  const groups = readRecords(audit, "groups");
  const links = await readLinks(groups, visit);
  const bySeverity = Object.entries(severities).map(([severity, title]) => {
    const own = groups.filter((group) => findKind(readText(group, "code")).severity === severity);
    return renderSeverity(severity as Severity, title, own, { links, visit });
  });
  return html`<p class="soft">${describeChecked(audit)}</p>
    ${
      groups.length === 0
        ? html`<section class="card" aria-label="Findings">
            <div class="empty"><p>No problems found.</p></div>
          </section>`
        : bySeverity
    }
    ${renderUnchecked(audit)} ${renderPages(meta, visit.url)}`;
}

function describeChecked(audit: JsonObject): string {
  const count = readNumber(audit, "checked");
  const links = count === 1 ? "1 link" : `${count.toLocaleString("en")} links`;
  return `${links} checked. Nothing was changed.`;
}

type Known = {
  readonly links: ReadonlyMap<string, JsonObject>;
  readonly visit: Visit;
};

/** Of the ids of all groups so many links are read, to be called by their names. */
const mostRead = 100;

async function readLinks(
  groups: readonly JsonObject[],
  { account }: Visit,
): Promise<Known["links"]> {
  const ids = new Set(groups.filter(isOfLinks).flatMap(readIds));
  const read = await Promise.all(
    [...ids]
      .slice(0, mostRead)
      .map(async (id) => [id, await account.readRecord("link", id)] as const),
  );
  return new Map(read.flatMap(([id, link]) => (link?.kind === "done" ? [[id, link.result]] : [])));
}

function isOfLinks(group: JsonObject): boolean {
  return findKind(readText(group, "code")).of === undefined;
}

function readIds(group: JsonObject): readonly string[] {
  const ids = group["ids"];
  return Array.isArray(ids) ? ids.filter((id) => typeof id === "string") : [];
}

function renderSeverity(
  severity: Severity,
  title: string,
  groups: readonly JsonObject[],
  known: Known,
): Html | string {
  if (groups.length === 0) return "";
  return html`<section class="findings" aria-labelledby="${severity}">
    <h2 id="${severity}">${title}</h2>
    ${groups.map((group) => renderGroup(group, severity, known))}
  </section>`;
}

const looks: Readonly<Record<Severity, string>> = {
  broken: "tag grave",
  doubtful: "tag warn",
  idle: "tag",
};

function renderGroup(group: JsonObject, severity: Severity, known: Known): Html {
  const { title } = findKind(readText(group, "code"));
  const field = readText(group, "field");
  const count = readNumber(group, "count");
  return html`<div class="card">
    <div class="inside">
      <div class="split">
        <div>
          <h3>
            ${title}${field === "" ? "" : html` <span class="tag">${writeLabel(field)}</span>`}
          </h3>
          <p class="soft" dir="auto">${tellPlainly(readText(group, "message"))}</p>
        </div>
        <span class="${looks[severity]} number">${describeCount(group, count)}</span>
      </div>
      ${isOfLinks(group) ? renderLinks(group, count, known) : ""} ${renderMends(group, known)}
    </div>
  </div>`;
}

function describeCount(group: JsonObject, count: number): string {
  const { of = "links" } = findKind(readText(group, "code"));
  const one = of.replace(/s$/, "");
  return `${count.toLocaleString("en")} ${count === 1 ? one : of}`;
}

function renderLinks(group: JsonObject, count: number, { links, visit }: Known): Html {
  const ids = readIds(group);
  const more = count - ids.length;
  const mayLook = visit.account.mayUse("get_link");
  const items = ids.map((id) => {
    const link = links.get(id) ?? {};
    const path = readText(link, "path");
    const name = showHidden(readText(link, "name") || (path === "" ? id : `/${path}`));
    return mayLook
      ? html`<li>
          <a href="/links/${encodeURIComponent(id)}"><bdi>${name}</bdi></a>
        </li>`
      : html`<li><bdi>${name}</bdi></li>`;
  });
  return html`<ul class="found">
    ${items}${more > 0 ? html`<li class="soft">and ${more.toLocaleString("en")} more</li>` : ""}
  </ul>`;
}

/** What mends all of them, or the way to those that are shown. */
function renderMends(group: JsonObject, { links, visit }: Known): Html | string {
  const { account, formToken } = visit;
  if (findKind(readText(group, "code")).of === "apps") {
    const maySee = account.mayUse("list_ios_apps") || account.mayUse("list_android_apps");
    return maySee ? html`<div><a class="button small" href="/apps">View apps</a></div>` : "";
  }
  if (!account.mayUse("plan_links") || !account.mayUse("update_link")) return "";
  const fix = readRecord(readRecord(group, "fix"), "arguments");
  const filters = readRecords(group, "filters").flatMap(readShown);
  const paths = readIds(group).flatMap((id) => readText(links.get(id) ?? {}, "path") || []);
  const hasFix = readText(readRecord(group, "fix"), "tool") === "plan_links";
  const hasNone = !hasFix && filters.length === 0 && paths.length <= 1;
  if (!isOfLinks(group) || hasNone) return "";
  return html`<div class="buttons">
    ${
      hasFix
        ? renderPost(visit, "/audit", html`<button class="small">Fix…</button>`, {
            fix: JSON.stringify(fix),
          })
        : ""
    }
    ${
      filters.length > 0
        ? html`<a class="button small" href="${writeList(filters)}">View all</a>`
        : ""
    }
    ${
      paths.length > 1
        ? html`<form method="post" action="/links/several">
            ${renderHidden("form_token", formToken)}
            ${paths.map((path) => renderHidden("path", path))}
            <button class="small">Change these ${paths.length} links…</button>
          </form>`
        : ""
    }
  </div>`;
}

/** A filter that the list of links has as well. */
function readShown(filter: JsonObject): readonly FilterInput[] {
  const { value } = filter;
  const isPlain = typeof value === "string" || typeof value === "number";
  if (!isPlain && typeof value !== "boolean") return [];
  return [readFilter(`${readText(filter, "field")} ${readText(filter, "condition")} ${value}`)];
}

function writeList(filters: readonly FilterInput[]): string {
  return `/links${writeLinkQuery({ search: "", sort: "oldest", page: 1, filters })}`;
}

function renderUnchecked(audit: JsonObject): Html | string {
  const texts = audit["not_checked"];
  const told = Array.isArray(texts) ? texts.filter((text) => typeof text === "string") : [];
  const filters = readRecords(readRecord(readRecord(audit, "next"), "arguments"), "filters");
  const query = new URLSearchParams({ look: "1" });
  for (const filter of filters.flatMap(readShown)) query.append("filter", writeFilter(filter));
  const onward =
    filters.length === 0
      ? ""
      : html`<div class="buttons">
          <a class="button small" href="/audit?${String(query)}">Check the remaining links</a>
        </div>`;
  if (told.length === 0) return onward;
  return html`<section class="card" aria-labelledby="unchecked">
    <h2 id="unchecked">Not checked</h2>
    <div class="inside">
      <ul class="list">
        ${told.map((text) => html`<li dir="auto">${text}</li>`)}
      </ul>
      ${onward}
    </div>
  </section>`;
}

/** Each page shows other links of the same groups. */
function renderPages(meta: JsonObject, { searchParams }: URL): Html | string {
  const query = new URLSearchParams(searchParams);
  query.delete("page");
  query.append("page", "");
  return renderPaging(meta, "findings", `/audit?${String(query)}`);
}

/** What the audit has worded, and whatever else a form sends: a plan that changes nothing. */
async function planFix(visit: Visit, form: Form): Promise<Reply> {
  const args = parse(form.read("fix"));
  if (args === undefined || !visit.account.mayUse("plan_links")) return show(visit);
  const answer = await visit.account.call("plan_links", args);
  if (answer.kind === "failed") return show(visit, answer.failure.message);
  if (answer.kind === "asks") return show(visit);
  return goToPlan(answer.result);
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

type Severity = "broken" | "doubtful" | "idle";

const severities: Readonly<Record<Severity, string>> = {
  broken: "Broken for visitors",
  doubtful: "Worth a look",
  idle: "Good to know",
};

type Kind = {
  readonly title: string;
  readonly severity: Severity;
  /** What the ids belong to; omitted for links. */
  readonly of?: "apps";
};

/** How the console names each finding of an audit, and how serious it is. */
const kinds: Readonly<Record<string, Kind>> = {
  loop: { title: "Redirect loop", severity: "broken" },
  no_destination: { title: "No destination", severity: "broken" },
  deleted_app: { title: "Deleted app", severity: "broken" },
  no_ios_destination: { title: "No destination on iPhones without the app", severity: "broken" },
  no_android_destination: {
    title: "No destination on Android without the app",
    severity: "broken",
  },
  invalid_field: { title: "Invalid field", severity: "broken" },
  app_invalid: { title: "Invalid app", severity: "broken", of: "apps" },
  team_id_unfit: {
    title: "Team IDs that are not in Apple's format",
    severity: "broken",
    of: "apps",
  },
  short_fingerprints: {
    title: "Fingerprints that Android ignores",
    severity: "broken",
    of: "apps",
  },
  no_desktop_destination: {
    title: "No destination on computers",
    severity: "doubtful",
  },
  app_without_store_id: { title: "Apps without an App Store ID", severity: "doubtful", of: "apps" },
  no_open_button: {
    title: "Apps that the Open button cannot open",
    severity: "doubtful",
    of: "apps",
  },
  app_unknown: { title: "Unknown app", severity: "doubtful" },
  campaign_token_unfit: {
    title: "Campaign token that Apple rejects",
    severity: "doubtful",
  },
  http_address: { title: "Address without HTTPS", severity: "doubtful" },
  hidden_characters: { title: "Invisible characters", severity: "doubtful" },
  deferred_linking_without_app: {
    title: "Deferred link without an app",
    severity: "doubtful",
  },
  deferred_linking_without_page: {
    title: "Deferred link without the preview page",
    severity: "doubtful",
  },
  app_fields_ignored: { title: "Ignored app fields", severity: "idle" },
  store_tokens_unused: { title: "Unused App Store tokens", severity: "idle" },
  referrer_unused: { title: "Unused Google Play referrer", severity: "idle" },
  duplicate: { title: "Same link at several paths", severity: "idle" },
  never_clicked: { title: "No clicks", severity: "idle" },
};

function findKind(code: string): Kind {
  const known = Object.hasOwn(kinds, code) ? kinds[code] : undefined;
  return known ?? { title: code.replaceAll("_", " "), severity: "doubtful" };
}

/** Leaves out what only an assistant should ask, and writes names of fields in plain words. */
function tellPlainly(message: string): string {
  const sentences = message.split(/(?<=[.?])\s+/);
  return writeFieldsInWords(sentences.filter((each) => !each.startsWith("Ask ")).join(" "));
}
