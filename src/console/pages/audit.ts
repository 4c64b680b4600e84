import type { FilterInput } from "../../contract/filters.ts";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { showHidden } from "../../text/show-hidden.ts";
import { writeFieldsInWords, writeLabel } from "../../text/write-label.ts";
import { html, type Html, type Part } from "../html.ts";
import { renderAnswer, renderPaging } from "../list-parts.ts";
import type { Form, Page, Reply, PageRequest } from "../page.ts";
import {
  countThings,
  goToPlan,
  renderBox,
  renderCard,
  renderForm,
  renderHidden,
  renderList,
  renderPost,
  writeNumber,
} from "../parts.ts";
import { readPage } from "../read-address.ts";
import type { Audit, AuditGroup, Records, ToolResults } from "../records.ts";
import { readFilter, writeFilter, writeLinkQuery } from "./link-query.ts";

/** Lists the problems of links, most serious first, and how to fix them. */
export const auditPage: Page = {
  path: /^\/audit$/,
  entry: { name: "Audit", address: "/audit", icon: "M3 8.5 6.5 12 13 4.5", group: "Service" },
  needs: "audit_links",
  show: (request) => show(request),
  submit: planFix,
};

/** With more links than this, the audit runs only on request. */
const mostUnasked = 5000;

async function show(request: PageRequest, fault?: string): Promise<Reply> {
  const { account, url } = request;
  const filters = url.searchParams.getAll("filter").map(readFilter);
  const some = filters.length > 0 && { filters };
  const isAsked = url.searchParams.has("look");
  const found = isAsked ? undefined : await account.tryCall("list_links", { ...some, limit: 1 });
  const count = found?.meta?.count ?? 0;
  const page = { kind: "page", title: "Audit", fault } as const;
  if (count > mostUnasked) return { ...page, body: renderStart(count) };
  const answer = await account.call("audit_links", { ...some, page: readPage(url) });
  if (answer.kind === "failed") return { ...page, body: renderAnswer(answer, () => "") };
  return { ...page, body: await renderAudit(answer.result, request) };
}

function renderStart(count: number): Html {
  const below = html`<div class="empty">
    <p>
      Waypost will check all ${writeNumber(count)} links. This takes up to twenty seconds and
      changes nothing.
    </p>
    <a class="button main" href="/audit?look=1">Check links</a>
  </div>`;
  return renderBox("Audit", { below });
}

async function renderAudit(
  { audit, meta }: ToolResults["audit_links"],
  request: PageRequest,
): Promise<Part> {
  const { groups } = audit;
  const links = await readLinks(groups, request);
  const sections = severities.map((severity) => {
    const own = groups.filter(({ code }) => findSeverity(code) === severity);
    const cards = own.map((group) => renderGroup(group, { links, request }));
    return (
      cards.length > 0 &&
      html`<section class="findings" aria-label="${severity.title}">
        <h2>${severity.title}</h2>
        ${cards}
      </section>`
    );
  });
  const none = html`<div class="empty"><p>No problems found.</p></div>`;
  const query = new URLSearchParams(request.url.searchParams);
  query.delete("page");
  query.append("page", "");
  return html`<p class="soft">
      ${countThings(audit.checked, "link")} checked. Nothing was changed.
    </p>
    ${groups.length === 0 ? renderBox("Findings", { below: none }) : sections}
    ${renderUnchecked(audit)} ${renderPaging(meta, "findings", `/audit?${String(query)}`)}`;
}

type AuditContext = {
  readonly links: ReadonlyMap<string, Records["link"]>;
  readonly request: PageRequest;
};

/** The maximum number of links that are read to show their names. */
const mostRead = 100;

async function readLinks(
  groups: readonly AuditGroup[],
  { account }: PageRequest,
): Promise<AuditContext["links"]> {
  const ids = new Set(groups.filter(isOfLinks).flatMap((group) => group.ids));
  const read = await Promise.all(
    [...ids].slice(0, mostRead).map((id) => account.readRecord("link", id)),
  );
  const found = read.flatMap((link) => (link?.kind === "done" ? [link.result] : []));
  return new Map(found.map((link) => [link.id, link]));
}

function isOfLinks({ code }: AuditGroup): boolean {
  return !ofApps.has(code);
}

function renderGroup(group: AuditGroup, known: AuditContext): Html {
  const { code, field, count, message } = group;
  const { kinds, look } = findSeverity(code);
  const title = new Map(Object.entries(kinds)).get(code) ?? code.replaceAll("_", " ");
  return html`<div class="card">
    <div class="inside">
      <div class="split">
        <div>
          <h3>${title}${field && html` <span class="tag">${writeLabel(field)}</span>`}</h3>
          <p class="soft" dir="auto">${writePlainly(message)}</p>
        </div>
        <span class="${look} number">${countThings(count, isOfLinks(group) ? "link" : "app")}</span>
      </div>
      ${isOfLinks(group) && renderLinks(group, known)} ${renderFixes(group, known)}
    </div>
  </div>`;
}

function renderLinks({ ids, count }: AuditGroup, { links, request }: AuditContext): Html {
  const more = count - ids.length;
  const mayLook = request.account.mayUse("get_link");
  const items = ids.map((id) => {
    const { name, path } = links.get(id) ?? {};
    const shown = html`<bdi>${showHidden(name || (path ? `/${path}` : id))}</bdi>`;
    const address = `/links/${encodeURIComponent(id)}`;
    return html`<li>${mayLook ? html`<a href="${address}">${shown}</a>` : shown}</li>`;
  });
  const rest = more > 0 && html`<li class="soft">and ${writeNumber(more)} more</li>`;
  return renderList([items, rest], "found");
}

function renderFixes(group: AuditGroup, { links, request }: AuditContext): Part {
  const { mayUse } = request.account;
  if (!isOfLinks(group)) {
    const maySee = mayUse("list_ios_apps") || mayUse("list_android_apps");
    return maySee && html`<div><a class="button small" href="/apps">View apps</a></div>`;
  }
  if (!mayUse("plan_links") || !mayUse("update_link")) return "";
  const filters = listShown(group.filters);
  const paths = group.ids.flatMap((id) => links.get(id)?.path || []);
  const hasFix = group.fix?.tool === "plan_links";
  const fix = JSON.stringify(group.fix?.arguments);
  if (!hasFix && filters.length === 0 && paths.length <= 1) return "";
  const button = html`<button class="small">Fix…</button>`;
  const list = writeLinkQuery({ search: "", sort: "oldest", page: 1, filters });
  const change = html`${paths.map((path) => renderHidden("path", path))}
    <button class="small">Change these ${paths.length} links…</button>`;
  return html`<div class="buttons">
    ${hasFix && renderPost(request, "/audit", button, { fix })}
    ${filters.length > 0 && html`<a class="button small" href="/links${list}">View all</a>`}
    ${paths.length > 1 && renderForm(request, "/links/several", change, html``)}
  </div>`;
}

function listShown(filters: readonly FilterInput[] = []): readonly FilterInput[] {
  return filters.flatMap((filter) =>
    typeof filter.value === "object" ? [] : readFilter(writeFilter(filter)),
  );
}

function renderUnchecked({ not_checked: texts = [], next }: Audit): Part {
  const filters = next?.arguments.filters ?? [];
  const query = new URLSearchParams({ look: "1" });
  for (const filter of listShown(filters)) query.append("filter", writeFilter(filter));
  const rest =
    filters.length > 0 &&
    html`<div class="buttons">
      <a class="button small" href="/audit?${String(query)}">Check the remaining links</a>
    </div>`;
  if (texts.length === 0) return rest;
  const items = renderList(texts.map((text) => html`<li dir="auto">${text}</li>`));
  return renderCard("Not checked", { inside: [items, rest] });
}

/** Creates a plan from the form. Even a forged form could only create a plan, not apply it. */
async function planFix(request: PageRequest, form: Form): Promise<Reply> {
  const args = parse(form.read("fix"));
  if (args === undefined || !request.account.mayUse("plan_links")) return show(request);
  const answer = await request.account.call("plan_links", args);
  return answer.kind === "failed" ? show(request, answer.failure.message) : goToPlan(answer.result);
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The severities, from serious to harmless. */
const severities = [
  {
    title: "Broken for visitors",
    look: "tag grave",
    kinds: {
      loop: "Redirect loop",
      no_destination: "No destination",
      deleted_app: "Deleted app",
      no_ios_destination: "No destination on iPhones without the app",
      no_android_destination: "No destination on Android without the app",
      invalid_field: "Invalid field",
      app_invalid: "Invalid app",
      team_id_unfit: "Team IDs that are not in Apple's format",
      short_fingerprints: "Fingerprints that Android ignores",
    },
  },
  {
    title: "Worth a look",
    look: "tag warn",
    kinds: {
      no_desktop_destination: "No destination on computers",
      app_without_store_id: "Apps without an App Store ID",
      no_open_button: "Apps that the Open button cannot open",
      app_unknown: "Unknown app",
      campaign_token_unfit: "Campaign token that Apple rejects",
      http_address: "Address without HTTPS",
      hidden_characters: "Invisible characters",
      deferred_linking_without_app: "Deferred link without an app",
      deferred_linking_without_page: "Deferred link without the preview page",
    },
  },
  {
    title: "Good to know",
    look: "tag",
    kinds: {
      app_fields_ignored: "Ignored app fields",
      store_tokens_unused: "Unused App Store tokens",
      referrer_unused: "Unused Google Play referrer",
      duplicate: "Same link at several paths",
      never_clicked: "No clicks",
    },
  },
] as const satisfies readonly {
  readonly title: string;
  readonly look: string;
  readonly kinds: Readonly<Record<string, string>>;
}[];

const [, doubtful] = severities;

function findSeverity(code: string): (typeof severities)[number] {
  return severities.find(({ kinds }) => Object.hasOwn(kinds, code)) ?? doubtful;
}

const ofApps = new Set([
  "app_invalid",
  "team_id_unfit",
  "short_fingerprints",
  "app_without_store_id",
  "no_open_button",
]);

/** Removes sentences meant for assistants, and replaces field names with plain words. */
function writePlainly(message: string): string {
  const sentences = message.split(/(?<=[.?])\s+/);
  return writeFieldsInWords(sentences.filter((each) => !each.startsWith("Ask ")).join(" "));
}
