import { writeLabel } from "../../text/write-label.ts";
import { act } from "../act.ts";
import { html } from "../html.ts";
import {
  leadToLast,
  renderAnswer,
  renderPaging,
  renderResults,
  renderSearch,
  writeListAddress,
} from "../list-parts.ts";
import { readOwnAddress } from "../own-address.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { renderFault, renderHead, renderNote } from "../parts.ts";
import { readPage, readRecord, readRecords } from "../read.ts";
import { historyAddress, renderChanges, undoAddress } from "../render-changes.ts";

/** All that was changed in 30 days, page by page, and the way back from each of it. */
export const historyPage: Page = {
  path: new RegExp(`^${historyAddress}$`),
  entry: {
    name: "History",
    address: historyAddress,
    icon: "M3 8a5 5 0 1 0 1.6-3.7L3 5.8M3 2.8v3h3M8 5.2V8l2 1.4",
    group: "Service",
  },
  needs: "list_changes",
  show,
};

/** Every list of changes sends its buttons here. */
export const undoPage: Page = {
  path: new RegExp(`^${undoAddress}$`),
  needs: "undo",
  // Opening the address presses no button.
  show: () => Promise.resolve({ kind: "go", to: historyAddress }),
  submit: undo,
};

const kinds: readonly string[] = [
  "link",
  "webhook",
  "ios_app",
  "android_app",
  "page_template",
  "job",
  "api_key",
  "project",
  "project_settings",
];

type Query = { readonly target: string; readonly kind: string };

async function show(visit: Visit): Promise<Reply> {
  const { account, url } = visit;
  const query = readQuery(url);
  const { target, kind } = query;
  const answer = await account.listChanges({
    ...(target !== "" && { target }),
    ...(kind !== "" && { kind }),
    page: readPage(url),
  });
  const past = leadToLast(url, answer);
  if (past !== undefined) return past;
  const pages = writeListAddress(historyAddress, query, { page: "" });
  const list = renderAnswer(
    answer,
    (result) =>
      html`<div class="inside">${renderChanges(readRecords(result, "changes"), visit)}</div>
        ${renderPaging(readRecord(result, "meta"), "changes", pages)}`,
  );
  const body = html`<div class="head"><h1>History</h1></div>
    ${renderNote(url)}
    <p class="soft">
      Changes from the last 30 days, newest first. They were made by assistants, in the console or
      in the CLI. Changes that other programs make over the REST API are not included.
    </p>
    <section class="card" aria-label="Changes">
      <div class="tools">${renderSearch(describeSearch(query))}</div>
      ${renderResults(list)}
    </section>`;
  return { kind: "page", title: "History", body };
}

function readQuery({ searchParams }: URL): Query {
  const kind = searchParams.get("kind") ?? "";
  return {
    target: (searchParams.get("target") ?? "").trim(),
    kind: kinds.includes(kind) ? kind : "",
  };
}

function describeSearch({ target, kind }: Query) {
  const text = {
    name: "target",
    value: target,
    label: "Search history",
    placeholder: "Search by path, address, app or ID",
  };
  const named = kinds.map((name) => [name, writeLabel(name)] as const);
  return { address: historyAddress, text, kind, kinds: [["", "Everything"] as const, ...named] };
}

async function undo(visit: Visit, form: Form): Promise<Reply> {
  const args = { change_id: form.read("change_id") };
  const back = readBack(form.read("back"), visit.url);
  const here = back.pathname + back.search;
  const ended = await act(visit, form, { run: () => visit.account.call("undo", args), back: here });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "failed") return showNotUndone(ended.failure.message, here);
  back.searchParams.set("done", "undone");
  return { kind: "go", to: back.pathname + back.search };
}

/** The page on which it was pressed. */
function readBack(text: string, { origin }: URL): URL {
  return readOwnAddress(text, origin) ?? new URL(historyAddress, origin);
}

function showNotUndone(fault: string, back: string): Reply {
  const body = html`${renderHead("Not undone", { name: "History", address: historyAddress })}
    ${renderFault(fault)}
    <p><a class="button" href="${back}">Go back</a></p>`;
  return { kind: "page", title: "Not undone", body, status: 422 };
}
