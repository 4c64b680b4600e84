import type { JsonObject } from "../../contract/json.ts";
import { writeLabel } from "../../text/write-label.ts";
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
import { readNumber, readPage, readRecord, readRecords, readText } from "../read.ts";
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
  const wanted = { ...(search !== "" && { search }), ...(kind !== "" && { kind }) };
  const answer = await account.call("list_bin", { ...wanted, page: readPage(url) });
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

function renderList(result: JsonObject, query: Query, visit: Visit): Html {
  const entries = readRecords(result, "bin");
  const isNarrowed = query.search !== "" || query.kind !== "";
  if (entries.length === 0) {
    return html`<div class="empty">
      <p>${isNarrowed ? "No deleted links or apps match." : "The bin is empty."}</p>
    </div>`;
  }
  const canRestore = visit.account.mayUse("restore_deleted");
  const rows = entries.map((entry) => renderRow(entry, canRestore, visit));
  const paging = renderPaging(
    readRecord(result, "meta"),
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

function renderRow(entry: JsonObject, canRestore: boolean, { account }: Visit): Html {
  const [kind, identifier] = [readText(entry, "kind"), readText(entry, "identifier")];
  const known = kind === "link" ? `/${identifier}` : identifier;
  const name = readText(entry, "name") || known;
  const item = `${kind}:${readText(entry, "id")}`;
  const [deleted, until] = [
    renderTime(readText(entry, "deleted_at"), account),
    renderTime(readText(entry, "until"), account),
  ];
  const isOpen = canRestore && entry["can_restore"] === true;
  const button = html`<button
    class="small"
    name="only"
    value="${item}"
    aria-label="Restore ${name}"
  >
    Restore
  </button>`;
  return html`<tr>
    ${canRestore ? renderPick({ name: "item", value: item, label: name, isOpen }) : ""}
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
  const answer = await account.call("restore_deleted", { items });
  if (answer.kind === "asks") return show(visit);
  if (answer.kind === "failed") return show(visit, [html`${renderFault(answer.failure.message)}`]);
  const failed = readRecords(answer.result, "failed");
  if (failed.length === 0) {
    return { kind: "go", to: writeListAddress("/deleted", query, { done: "restored" }) };
  }
  return show(visit, failed.map(renderFailed), readNumber(answer.result, "restored"));
}

function renderFailed(failure: JsonObject): Html {
  const [name, message] = [readText(failure, "name"), readText(failure, "message")];
  const subject = name === "" ? "" : html`<bdi>${name}</bdi> was not restored: `;
  return html`<p class="fault" role="alert">${subject}${message}</p>`;
}
