import { writeLabel } from "../../text/write-label.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Answer } from "../account.ts";
import { html, type Html } from "../html.ts";
import { leadToLast, renderAnswer, renderResults } from "../list-parts.ts";
import type { Page, Reply, Visit } from "../page.ts";
import {
  renderFault,
  renderHidden,
  renderNote,
  renderOption,
  renderTable,
  shorten,
} from "../parts.ts";
import { readNumber, readRecord, readRecords, readText } from "../read.ts";
import { linkList } from "./link-place.ts";
import {
  conditionWords,
  describeFilter,
  filterFields,
  chooseMostCounted,
  isCountCut,
  isNarrowed,
  readLinkQuery,
  sorts,
  writeArguments,
  writeFilter,
  writeFound,
  writeLinkQuery,
  type LinkQuery,
} from "./link-query.ts";
import { renderPick, renderSelecting, selectColumn } from "./select-links.ts";

/** All links, searched while somebody types, filtered, in an order, page by page. */
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

async function show(visit: Visit): Promise<Reply> {
  const { account, url } = visit;
  const query = readLinkQuery(url);
  const added = readAdded(url);
  if (added !== undefined) {
    const params = new URLSearchParams(writeLinkQuery({ ...query, page: 1 }));
    params.append("filter", added);
    return { kind: "go", to: `/links?${String(params)}` };
  }
  const answer = await account.listLinks(writeArguments(query), chooseMostCounted(query));
  const past = leadToLast(url, answer);
  if (past !== undefined) return past;
  const list = isFilterRefused(answer)
    ? renderFault("A filter in this address is not valid. Remove it, then add it again.")
    : renderAnswer(answer, (result) => renderList(result, query, visit));
  const body = html`<div class="head">
      <h1>Links</h1>
      ${
        account.mayUse("list_bin")
          ? html`<a class="button quiet" href="/deleted?kind=link">Deleted</a>`
          : ""
      }
      ${
        account.mayUse("plan_links")
          ? html`<a class="button quiet" href="/links/import">Import</a>`
          : ""
      }
      ${
        account.mayUse("create_link")
          ? html`<a class="button main" href="/links/new">New link</a>`
          : ""
      }
    </div>
    ${renderNote(url)}
    <section class="card" aria-label="Links">
      <div class="tools">${renderSearch(query)} ${renderFilters(query)}</div>
      ${renderResults(list)}
    </section>`;
  return { kind: "page", title: "Links", body };
}

/** The tool's own message names positions in its arguments, which a person does not see. */
function isFilterRefused(answer: Answer): boolean {
  if (answer.kind !== "failed" || answer.failure.code !== "invalid_arguments") return false;
  return answer.failure.problems?.some(({ field }) => field?.startsWith("filters")) === true;
}

/** One more filter, as its form sends it; undefined where none was sent. */
function readAdded({ searchParams }: URL): string | undefined {
  const field = searchParams.get("field");
  if (field === null) return undefined;
  const [condition, value] = [searchParams.get("condition"), searchParams.get("value")];
  return `${field} ${condition ?? ""} ${value ?? ""}`;
}

function renderSearch({ search, sort, filters }: LinkQuery): Html {
  const options = Object.entries(sorts).map(([name, { label }]) => renderOption(name, label, sort));
  return html`<form action="/links" role="search" class="row" data-live="results">
    ${filters.map((filter) => renderHidden("filter", writeFilter(filter)))}
    <div class="search">
      <label class="hidden" for="search">Search links</label>
      <input
        type="search"
        id="search"
        name="search"
        value="${search}"
        autocomplete="off"
        placeholder="Search name, path, address or destination"
      />
    </div>
    <div class="sort">
      <label class="hidden" for="sort">Sort by</label>
      <select id="sort" name="sort">
        ${options}
      </select>
    </div>
    <button class="plain">Search</button>
  </form>`;
}

function renderFilters(query: LinkQuery): Html {
  const { search, sort, filters } = query;
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
  const shown =
    chips.length === 0
      ? ""
      : html`<ul class="chips">
          ${chips}
        </ul>`;
  return html`<div id="filters" class="filtering">
    ${shown}
    <details>
      <summary>${filters.length === 0 ? "Filters" : "More filters"}</summary>
      <form action="/links" class="filters">
        ${search === "" ? "" : renderHidden("search", search)} ${renderHidden("sort", sort)}
        ${filters.map((filter) => renderHidden("filter", writeFilter(filter)))}
        <div class="field">
          <label for="field">Field</label>
          <select id="field" name="field">
            ${Object.keys(filterFields).map(renderField)}
          </select>
        </div>
        <div class="field">
          <label for="condition">Condition</label>
          <select id="condition" name="condition">
            ${Object.entries(conditionWords).map(
              ([name, word]) => html`<option value="${name}">${word}</option>`,
            )}
          </select>
        </div>
        <div class="field">
          <label for="value">Value</label> <input id="value" name="value" autocomplete="off" />
        </div>
        <button>Add filter</button>
      </form>
    </details>
  </div>`;
}

function renderField(name: string): Html {
  return html`<option value="${name}">${writeLabel(name)}</option>`;
}

function renderList(result: JsonObject, query: LinkQuery, visit: Visit): Html {
  const links = readRecords(result, "links");
  if (links.length === 0) return renderNone(query, visit);
  const text = writeLinkQuery(query).slice(1);
  // It stands in every row.
  const from = text.length > mostOfQuery ? "" : text;
  const meta = readRecord(result, "meta");
  const canSelect = visit.account.mayUse("plan_links");
  const rows = links.map((link) => renderRow(link, { from, canSelect }));
  const paging = renderPaging(meta, query);
  if (!canSelect) return html`${renderTable("Links", columns, rows)} ${paging}`;
  const table = renderTable("Links", [selectColumn, ...columns], rows);
  return renderSelecting({ table, paging, query, meta, visit });
}

const mostOfQuery = 300;
/** Of each text in a row, which has one line for it. */
const mostOfText = 120;

const columns = [
  { name: "Link" },
  { name: "Destination", look: "late" },
  { name: "Clicks", look: "number slim" },
];

type Listed = { readonly from: string; readonly canSelect: boolean };

function renderRow(link: JsonObject, { from, canSelect }: Listed): Html {
  const read = (field: string) => shorten(readText(link, field), mostOfText);
  const [path, name, whole] = [read("path"), read("name"), readText(link, "path")];
  const destination = read("destination") || shorten(describeApps(link), mostOfText);
  const back = from === "" ? "" : `?from=${encodeURIComponent(from)}`;
  const address = `/links/${encodeURIComponent(readText(link, "id"))}${back}`;
  return html`<tr>
    ${canSelect ? renderPick({ name: "path", value: whole, label: name || `/${path}` }) : ""}
    <td>
      <a class="line" href="${address}" dir="auto">${name || `/${path}`}</a>
      ${name === "" ? "" : html`<span class="line soft" dir="auto">/${path}</span>`}
      <span class="line soft early" dir="auto">${destination}</span>
    </td>
    <td class="late"><span class="line soft" dir="auto">${destination}</span></td>
    <td class="number">${readNumber(link, "clicks").toLocaleString("en")}</td>
  </tr>`;
}

function describeApps(link: JsonObject): string {
  const apps = [readText(link, "ios_app"), readText(link, "android_app")];
  return apps.filter((name) => name !== "").join(", ") || "No destination";
}

function renderNone(query: LinkQuery, { account }: Visit): Html {
  if (isNarrowed(query)) {
    return html`<div class="empty">
      <p>No links match.</p>
      <a class="button" href="/links">Clear search and filters</a>
    </div>`;
  }
  const how = account.mayUse("create_link")
    ? " Create the first one, or ask your assistant to."
    : "";
  return html`<div class="empty"><p>No links yet.${how}</p></div>`;
}

function renderPaging(meta: JsonObject, query: LinkQuery): Html {
  const [page, from, to] = [
    readNumber(meta, "page"),
    readNumber(meta, "from"),
    readNumber(meta, "to"),
  ];
  const isMore = isCountCut(meta, query);
  const last = isMore
    ? chooseMostCounted(query) / readNumber(meta, "limit")
    : readNumber(meta, "last");
  const count = writeFound(meta, query);
  const step = (name: string, to_page: number, isThere: boolean) =>
    isThere
      ? html`<a class="button small" href="/links${writeLinkQuery({ ...query, page: to_page })}"
          >${name}</a
        >`
      : "";
  const range = from > 0 ? html`${from.toLocaleString("en")}–${to.toLocaleString("en")} of ` : "";
  return html`<nav class="foot" aria-label="Pages of links">
    <span class="number">${range}${count}</span>
    <span class="buttons"
      >${step("Previous", page - 1, page > 1)} ${step("Next", page + 1, page < last)}</span
    >
  </nav>`;
}
