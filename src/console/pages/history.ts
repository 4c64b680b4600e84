import { writeLabel } from "../../text/write-label.ts";
import { act } from "../act.ts";
import { html } from "../html.ts";
import {
  goToLast,
  renderAnswer,
  renderPaging,
  renderSearchedList,
  writeListAddress,
} from "../list-parts.ts";
import type { Form, Page, Reply, PageRequest } from "../page.ts";
import { readOwnAddress, readPage } from "../read-address.ts";
import { historyAddress, renderChanges, undoAddress } from "../render-changes.ts";

/** Lists the changes of the last 30 days, each with an undo button. */
const historyPage: Page = {
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

/** Handles the undo buttons of all lists of changes. */
const undoPage: Page = {
  path: new RegExp(`^${undoAddress}$`),
  needs: "undo",
  show: () => ({ kind: "go", to: historyAddress }),
  submit: undo,
};

export const historyPages: readonly Page[] = [historyPage, undoPage];

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

async function show(request: PageRequest): Promise<Reply> {
  const { account, url } = request;
  const target = (url.searchParams.get("target") ?? "").trim();
  const kind = kinds.find((name) => name === url.searchParams.get("kind")) ?? "";
  const more = {
    ...(target !== "" && { target }),
    ...(kind !== "" && { kind }),
    page: readPage(url),
  };
  const answer = await account.call("list_changes", {}, more);
  const past = goToLast(url, answer);
  if (past !== undefined) return past;
  const pages = writeListAddress(historyAddress, { target, kind }, { page: "" });
  const list = renderAnswer(
    answer,
    ({ changes, meta }) =>
      html`<div class="inside">${renderChanges(changes, request)}</div>
        ${renderPaging(meta, "changes", pages)}`,
  );
  const named = kinds.map((name) => [name, writeLabel(name)] as const);
  const search = {
    address: historyAddress,
    name: "target",
    text: target,
    label: "Search history",
    placeholder: "Search by path, address, app or ID",
    choice: {
      name: "kind",
      label: "Kind",
      chosen: kind,
      options: [["", "Everything"] as const, ...named],
    },
  };
  const body = html`<p class="soft">
      Changes from the last 30 days, newest first. They were made by assistants, in the console or
      in the CLI. Changes that other programs make over the REST API are not included.
    </p>
    ${renderSearchedList("Changes", search, list)}`;
  return { kind: "page", title: "History", body };
}

function undo(request: PageRequest, form: Form): Promise<Reply> {
  const { account, url } = request;
  const back = readOwnAddress(form.read("back"), url.origin) ?? new URL(historyAddress, url.origin);
  const here = back.pathname + back.search;
  return act(request, form, {
    run: () => account.act("undo", { change_id: form.read("change_id") }),
    back: here,
    done: () => {
      back.searchParams.set("done", "undone");
      return { kind: "go", to: back.pathname + back.search };
    },
    failed: ({ message }) => ({
      kind: "page",
      title: "Not undone",
      above: { name: "History", address: historyAddress },
      fault: message,
      body: html`<p><a class="button" href="${here}">Go back</a></p>`,
    }),
  });
}
