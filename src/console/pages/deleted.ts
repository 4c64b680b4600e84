import { writeLabel } from "../../text/write-label.ts";
import type { DeletedPage, RestoredItems } from "../account.ts";
import { html, type Html } from "../html.ts";
import {
  leadToLast,
  renderAnswer,
  renderPaging,
  renderResults,
  renderSearch,
  writeListAddress,
} from "../list-parts.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { renderFault, renderHidden, renderNote, renderTable } from "../parts.ts";
import { readPage } from "../read.ts";
import { renderTime } from "../render-changes.ts";
import { renderPick, selectColumn } from "./select-links.ts";

/** What was deleted, however that was done, and the way back while it is kept. */
export const deletedPage: Page = {
  path: /^\/deleted$/,
  needs: "list_bin",
  show: (visit) => show(visit),
  submit: restore,
};

type Query = { readonly search: string; readonly kind: string };

const kinds: readonly string[] = ["link", "ios_app", "android_app"];

function readQuery({ searchParams }: URL): Query {
  const kind = searchParams.get("kind") ?? "";
  return {
    search: (searchParams.get("search") ?? "").trim(),
    kind: kinds.includes(kind) ? kind : "",
  };
}

/** After a restore with why something did not come back, and how many others did. */
async function show(visit: Visit, faults: readonly Html[] = [], restored = 0): Promise<Reply> {
  const { account, url } = visit;
  const query = readQuery(url);
  const { search, kind } = query;
  const answer = await account.admin.listDeleted({
    search,
    kind: kind || undefined,
    page: readPage(url),
  });
  const past = leadToLast(url, answer);
  if (past !== undefined) return past;
  const list = renderAnswer(answer, (result) => renderList(result, query, visit));
  const some = restored === 0 ? "" : html`<p class="note good">${restored} restored.</p>`;
  const body = html`<div class="head"><h1>Deleted</h1></div>
    ${renderNote(url)} ${some} ${faults}
    <p class="soft">
      Deleted links and apps stay in the bin for 30 days. A restored link keeps its ID, address and
      clicks. A restored app keeps its links.
    </p>
    <section class="card" aria-label="Deleted">
      <div class="tools">${renderSearch(describeSearch(query))}</div>
      ${renderResults(list)}
    </section>`;
  return { kind: "page", title: "Deleted", body, status: faults.length === 0 ? 200 : 422 };
}

function describeSearch({ search, kind }: Query) {
  const text = {
    name: "search",
    value: search,
    label: "Search deleted links and apps",
    placeholder: "Search name, path, destination or identifier",
  };
  const named = kinds.map((name) => [name, `${writeLabel(name)}s`] as const);
  return { address: "/deleted", text, kind, kinds: [["", "Links and apps"] as const, ...named] };
}

const columns = [
  { name: "Link or app" },
  { name: "Deleted", look: "late when" },
  { name: "Restore", look: "number revoke" },
];

function renderList({ items, meta }: DeletedPage, query: Query, visit: Visit): Html {
  const isNarrowed = query.search !== "" || query.kind !== "";
  if (items.length === 0) {
    return html`<div class="empty">
      <p>${isNarrowed ? "No deleted links or apps match." : "The bin is empty."}</p>
    </div>`;
  }
  const canRestore = visit.account.mayUse("restore_deleted");
  const rows = items.map((item) => renderRow(item, canRestore, visit));
  const paging = renderPaging(
    meta,
    "deleted links and apps",
    writeListAddress("/deleted", query, { page: "" }),
  );
  if (!canRestore) return html`${renderTable("Deleted", columns.slice(0, 2), rows)} ${paging}`;
  const here = writeListAddress("/deleted", query, { page: String(readPage(visit.url)) });
  return html`<form method="post" action="${here}" data-select>
    ${renderHidden("form_token", visit.formToken)}
    ${renderTable("Deleted", [selectColumn, ...columns], rows)}
    <div class="selected">
      <span class="number" data-count role="status">Selected:</span>
      <button class="small">Restore</button>
    </div>
    ${paging}
  </form>`;
}

function renderRow(
  { kind, id, identifier, ...item }: DeletedPage["items"][number],
  canRestore: boolean,
  { account }: Visit,
): Html {
  const known = kind === "link" ? `/${identifier}` : identifier;
  const name = item.name || known;
  const value = `${kind}:${id}`;
  const deleted = renderTime(item.deleted_at, account);
  const until = renderTime(item.until, account);
  const isOpen = canRestore && item.canRestore;
  const button = html`<button
    class="small"
    name="only"
    value="${value}"
    aria-label="Restore ${name}"
  >
    Restore
  </button>`;
  return html`<tr>
    ${canRestore ? renderPick({ name: "item", value, label: name, isOpen }) : ""}
    <td>
      <span class="line" dir="auto">${name}</span>
      <span class="line soft" dir="auto">${name === known ? "" : known}</span>
      <span class="line soft">${writeLabel(kind)}, kept until ${until}</span>
      <span class="line soft early">Deleted ${deleted}</span>
    </td>
    <td class="late soft">${deleted}</td>
    ${canRestore ? html`<td class="number">${isOpen ? button : ""}</td>` : ""}
  </tr>`;
}

async function restore(visit: Visit, form: Form): Promise<Reply> {
  const { account, url } = visit;
  if (!account.mayUse("restore_deleted")) return show(visit);
  const ticked = form.entries.flatMap(([name, value]) => (name === "item" ? [value] : []));
  const items = form.has("only") ? [form.read("only")] : ticked;
  const query = readQuery(url);
  if (items.length === 0) return { kind: "go", to: writeListAddress("/deleted", query, {}) };
  const answer = await account.admin.restoreDeleted(items);
  if (answer.kind === "asks") return show(visit);
  if (answer.kind === "failed") return show(visit, [html`${renderFault(answer.failure.message)}`]);
  const { failed, restored } = answer.result;
  if (failed.length === 0) {
    return { kind: "go", to: writeListAddress("/deleted", query, { done: "restored" }) };
  }
  return show(visit, failed.map(renderFailed), restored);
}

function renderFailed({ name, message }: RestoredItems["failed"][number]): Html {
  const subject = name === "" ? "" : html`<bdi>${name}</bdi> was not restored: `;
  return html`<p class="fault" role="alert">${subject}${message}</p>`;
}
