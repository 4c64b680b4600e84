import { writeLabel } from "../../text/write-label.ts";
import type { ChangeResult } from "../account.ts";
import { renderField, type Field } from "../form-fields.ts";
import { html, type Html } from "../html.ts";
import {
  createPickColumn,
  goToLast,
  renderAnswer,
  renderPaging,
  renderSearchedList,
} from "../list-parts.ts";
import type { Page, Reply, PageRequest } from "../page.ts";
import {
  renderFault,
  renderForm,
  renderHidden,
  renderList,
  renderTable,
  shorten,
  writeNumber,
  type RowColumn,
} from "../parts.ts";
import type { ListedLink, ToolResults } from "../records.ts";
import {
  chooseMostCounted,
  conditionWords,
  describeFilter,
  filterFields,
  isCountCut,
  isNarrowed,
  linkList,
  readLinkQuery,
  renderQuery,
  sorts,
  writeArguments,
  writeFilter,
  writeFound,
  writeLinkQuery,
  type LinkQuery,
} from "./link-query.ts";

/** The list of links, with search, filters, sorting and paging. */
export const linksPage: Page = {
  path: /^\/links$/,
  entry: {
    ...linkList,
    icon:
      "M6.5 9.5 9.5 6.5M7.2 4.6l1-1a2.6 2.6 0 0 1 3.7 3.7l-1 1" +
      "M8.8 11.4l-1 1a2.6 2.6 0 0 1-3.7-3.7l1-1",
  },
  needs: "list_links",
  show,
};

async function show(request: PageRequest): Promise<Reply> {
  const { account, url } = request;
  const { mayUse } = account;
  const query = readLinkQuery(url);
  const added = readAdded(url);
  if (added !== undefined) {
    const params = new URLSearchParams(writeLinkQuery({ ...query, page: 1 }));
    params.append("filter", added);
    return { kind: "go", to: `/links?${String(params)}` };
  }
  const more = account.isOwn ? { count_to: chooseMostCounted(query) } : {};
  const answer = await account.call("list_links", writeArguments(query), more);
  const past = goToLast(url, answer);
  if (past !== undefined) return past;
  const list = isFilterRefused(answer)
    ? renderFault("A filter in this address is not valid. Remove it, then add it again.")
    : renderAnswer(answer, (result) => renderLinks(result, query, request));
  return {
    kind: "page",
    title: "Links",
    actions: [
      mayUse("list_bin") && html`<a class="button quiet" href="/deleted?kind=link">Deleted</a>`,
      mayUse("plan_links") && html`<a class="button quiet" href="/links/import">Import</a>`,
      mayUse("create_link") && html`<a class="button main" href="/links/new">New link</a>`,
    ],
    body: renderSearchedList("Links", describeSearch(query), list),
  };
}

/** A rejected filter gets its own message, because the tool's message names arguments. */
function isFilterRefused(answer: ChangeResult<unknown>): boolean {
  if (answer.kind !== "failed" || answer.failure.code !== "invalid_arguments") return false;
  return answer.failure.problems?.some(({ field }) => field?.startsWith("filters")) === true;
}

function readAdded({ searchParams }: URL): string | undefined {
  const field = searchParams.get("field");
  if (field === null) return undefined;
  const [condition, value] = [searchParams.get("condition"), searchParams.get("value")];
  return `${field} ${condition ?? ""} ${value ?? ""}`;
}

function describeSearch(query: LinkQuery) {
  const { search, sort, filters } = query;
  const options = Object.entries(sorts).map(([name, { label }]) => [name, label] as const);
  return {
    address: "/links",
    name: "search",
    text: search,
    label: "Search links",
    placeholder: "Search name, path, address or destination",
    choice: { name: "sort", label: "Sort by", chosen: sort, options },
    hidden: filters.map((filter) => renderHidden("filter", writeFilter(filter))),
    more: renderFilters(query),
  };
}

function renderFilters(query: LinkQuery): Html {
  const { sort, filters } = query;
  const chips = filters.map((filter, index) => {
    const rest = filters.filter((_, other) => other !== index);
    const without = writeLinkQuery({ ...query, filters: rest, page: 1 });
    const text = describeFilter(filter);
    return html`<li>
      <a class="button small" href="/links${without}" aria-label="Remove filter: ${text}"
        ><bdi>${text}</bdi> <span aria-hidden="true">×</span></a
      >
    </li>`;
  });
  return html`<div id="filters" class="filtering">
    ${chips.length > 0 && renderList(chips, "chips")}
    <details>
      <summary>${filters.length === 0 ? "Filters" : "More filters"}</summary>
      <form action="/links" class="filters">
        ${renderQuery(query)} ${renderHidden("sort", sort)}
        ${addedFields.map((field) => renderField(field, {}))}
        <button>Add filter</button>
      </form>
    </details>
  </div>`;
}

const addedFields: readonly Field[] = [
  {
    name: "field",
    kind: "choice",
    choices: Object.keys(filterFields).map((value) => ({ value, name: writeLabel(value) })),
  },
  {
    name: "condition",
    kind: "choice",
    choices: Object.entries(conditionWords).map(([value, name]) => ({ value, name })),
  },
  { name: "value", kind: "text" },
];

function renderLinks(result: ToolResults["list_links"], query: LinkQuery, request: PageRequest) {
  const { links, meta = {} } = result;
  if (links.length === 0) return renderNone(query, request);
  const text = writeLinkQuery(query).slice(1);
  // Every row's URL contains this query, so a long query is omitted.
  const isShort = text !== "" && text.length <= mostOfQuery;
  const from = isShort ? `?${String(new URLSearchParams({ from: text }))}` : "";
  const { mayUse } = request.account;
  const canSelect = mayUse("plan_links");
  const columns = [canSelect && pickColumn, ...listColumns(from)];
  const isCut = isCountCut(meta, query);
  const last = isCut ? chooseMostCounted(query) / (meta.limit ?? 1) : (meta.last ?? 1);
  const found = writeFound(meta, query);
  const range = meta.from ? `${writeNumber(meta.from)}–${writeNumber(meta.to)} of ${found}` : found;
  const pages = `/links${writeLinkQuery({ ...query, page: 0 })}`;
  const paging = renderPaging({ ...meta, last }, "links", pages, range);
  const table = renderTable("Links", columns, links);
  if (!canSelect) return html`${table} ${paging}`;
  // Without a search or filter, this checkbox would select every link of the project.
  const hasAll = isNarrowed(query) && (meta.last ?? 1) > 1;
  const all = html`<label class="check">
    <input type="checkbox" name="all" />
    <span>All matching links (${found})</span>
  </label>`;
  const change = html`<button class="small" name="way" value="">Change…</button>`;
  const remove = html`<button class="small grave" name="way" value="delete">Delete…</button>`;
  const body = html`${renderQuery(query)} ${table}
    <div class="selected">
      <span class="number" data-count role="status">Selected:</span>
      ${hasAll && all}
      <span class="buttons">
        ${mayUse("update_link") && change} ${mayUse("delete_link") && remove}
      </span>
    </div>
    ${paging}`;
  return renderForm(request, "/links/several", body, html`data-select`);
}

const mostOfQuery = 300;
/** Each row shows its text on one line, so longer text is truncated. */
const mostOfText = 120;

const pickColumn = createPickColumn((link: ListedLink) => ({
  name: "path",
  value: link.path ?? "",
  label: nameLink(link),
}));

function listColumns(from: string): readonly RowColumn<ListedLink>[] {
  return [
    {
      name: "Link",
      cell: (link) =>
        html`<a class="line" href="/links/${encodeURIComponent(link.id)}${from}" dir="auto"
            >${nameLink(link)}</a
          >
          ${link.name && html`<span class="line soft" dir="auto">${writePath(link)}</span>`}
          <span class="line soft early" dir="auto">${describeDestination(link)}</span>`,
    },
    {
      name: "Destination",
      look: "late",
      cell: (link) => html`<span class="line soft" dir="auto">${describeDestination(link)}</span>`,
    },
    { name: "Clicks", look: "number slim", cell: ({ clicks }) => writeNumber(clicks) },
  ];
}

function nameLink(link: ListedLink): string {
  return link.name ? shorten(link.name, mostOfText) : writePath(link);
}

function writePath({ path = "" }: ListedLink): string {
  return `/${shorten(path, mostOfText)}`;
}

function describeDestination({ destination, ios_app, android_app }: ListedLink): string {
  const apps = [ios_app, android_app].filter(Boolean).join(", ");
  return shorten(destination || apps || "No destination", mostOfText);
}

function renderNone(query: LinkQuery, { account }: PageRequest): Html {
  const all = html`<a class="button" href="/links">Clear search and filters</a>`;
  const how = account.mayUse("create_link") && " Create the first one, or ask your assistant to.";
  return html`<div class="empty">
    ${
      isNarrowed(query)
        ? html`<p>No links match.</p>
            ${all}`
        : html`<p>No links yet.${how}</p>`
    }
  </div>`;
}
