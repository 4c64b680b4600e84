import { writeLabel } from "../../text/write-label.ts";
import type { DeletedPage, RestoredItems } from "../account.ts";
import { html, type Html, type Part } from "../html.ts";
import {
  createPickColumn,
  goToLast,
  renderAnswer,
  renderPaging,
  renderRows,
  renderSearchedList,
  writeListAddress,
} from "../list-parts.ts";
import type { Form, Page, Reply, PageRequest } from "../page.ts";
import { renderForm, type RowColumn } from "../parts.ts";
import { readPage } from "../read-address.ts";
import { renderTime } from "../render-changes.ts";

/** The page that lists and restores deleted links and apps. */
export const deletedPage: Page = {
  path: /^\/deleted$/,
  needs: "list_bin",
  show: (request) => show(request),
  submit: restore,
};

type BinQuery = { readonly search: string; readonly kind: string };

const kinds: readonly string[] = ["link", "ios_app", "android_app"];

function readQuery({ searchParams }: URL): BinQuery {
  return {
    search: (searchParams.get("search") ?? "").trim(),
    kind: kinds.find((name) => name === searchParams.get("kind")) ?? "",
  };
}

/** After a restore, `fault` lists the failed items and `restored` counts the others. */
async function show(request: PageRequest, fault?: Part, restored = 0): Promise<Reply> {
  const { account, url } = request;
  const query = readQuery(url);
  const { search, kind } = query;
  const answer = await account.admin.listDeleted({
    search,
    kind: kind || undefined,
    page: readPage(url),
  });
  const past = goToLast(url, answer);
  if (past !== undefined) return past;
  const list = renderAnswer(answer, (result) => renderItems(result, query, request));
  const named = kinds.map((name) => [name, `${writeLabel(name)}s`] as const);
  const tools = {
    address: "/deleted",
    name: "search",
    text: search,
    label: "Search deleted links and apps",
    placeholder: "Search name, path, destination or identifier",
    choice: {
      name: "kind",
      label: "Kind",
      chosen: kind,
      options: [["", "Links and apps"] as const, ...named],
    },
  };
  const body = html`${restored > 0 && html`<p class="note good">${restored} restored.</p>`}
    <p class="soft">
      Deleted links and apps stay in the bin for 30 days. A restored link keeps its ID, address and
      clicks. A restored app keeps its links.
    </p>
    ${renderSearchedList("Deleted", tools, list)}`;
  return { kind: "page", title: "Deleted", fault, body };
}

function renderItems({ items, meta }: DeletedPage, query: BinQuery, request: PageRequest): Html {
  const isNarrowed = query.search !== "" || query.kind !== "";
  const canRestore = request.account.mayUse("restore_deleted");
  const list = renderRows({
    things: "Deleted",
    columns: listColumns(canRestore, request),
    rows: items,
    empty: isNarrowed ? "No deleted links or apps match." : "The bin is empty.",
    paging: html`${canRestore && selected}
    ${renderPaging(
      meta,
      "deleted links and apps",
      writeListAddress("/deleted", query, { page: "" }),
    )}`,
  });
  if (items.length === 0 || !canRestore) return list;
  const here = writeListAddress("/deleted", query, { page: String(readPage(request.url)) });
  return renderForm(request, here, list, html`data-select`);
}

const selected = html`<div class="selected">
  <span class="number" data-count role="status">Selected:</span>
  <button class="small">Restore</button>
</div>`;

type Item = DeletedPage["items"][number];

function listColumns(
  canRestore: boolean,
  { account }: PageRequest,
): readonly (RowColumn<Item> | false)[] {
  const deleted = ({ deleted_at }: Item) => renderTime(deleted_at, account);
  return [
    canRestore && pickColumn,
    {
      name: "Link or app",
      cell: (item) => {
        const [name, known] = [nameItem(item), identify(item)];
        return html`<span class="line" dir="auto">${name}</span>
          <span class="line soft" dir="auto">${name !== known && known}</span>
          <span class="line soft">
            ${writeLabel(item.kind)}, kept until ${renderTime(item.until, account)}
          </span>
          <span class="line soft early">Deleted ${deleted(item)}</span>`;
      },
    },
    { name: "Deleted", look: "late soft when", cell: deleted },
    canRestore && { name: "Restore", look: "number revoke", cell: renderRestore },
  ];
}

const pickColumn = createPickColumn(({ canRestore, ...item }: Item) =>
  canRestore
    ? { name: "item", value: `${item.kind}:${item.id}`, label: nameItem(item) }
    : undefined,
);

function renderRestore({ canRestore, ...item }: Item): Part {
  const [value, label] = [`${item.kind}:${item.id}`, `Restore ${nameItem(item)}`];
  return (
    canRestore &&
    html`<button class="small" name="only" value="${value}" aria-label="${label}">Restore</button>`
  );
}

function nameItem(item: Omit<Item, "canRestore">): string {
  return item.name || identify(item);
}

function identify({ kind, identifier }: Omit<Item, "canRestore">): string {
  return kind === "link" ? `/${identifier}` : identifier;
}

async function restore(request: PageRequest, form: Form): Promise<Reply> {
  const { account, url } = request;
  if (!account.mayUse("restore_deleted")) return show(request);
  const items = form.has("only") ? [form.read("only")] : form.readAll("item");
  const query = readQuery(url);
  if (items.length === 0) return { kind: "go", to: writeListAddress("/deleted", query, {}) };
  const answer = await account.admin.restoreDeleted(items);
  if (answer.kind === "asks") return show(request);
  if (answer.kind === "failed") return show(request, answer.failure.message);
  const { failed, restored } = answer.result;
  if (failed.length > 0) return show(request, failed.map(renderFailed), restored);
  return { kind: "go", to: writeListAddress("/deleted", query, { done: "restored" }) };
}

function renderFailed({ name, message }: RestoredItems["failed"][number]): Html {
  return html`${name !== "" && html`<bdi>${name}</bdi> was not restored: `}${message}`;
}
