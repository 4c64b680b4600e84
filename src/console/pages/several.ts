import type { FilterInput } from "../../contract/filters.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Failure } from "../account.ts";
import { renderGuard, renderOthers } from "../form-fields.ts";
import { html, type Html, type Part } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import {
  countThings,
  goToPlan,
  renderBox,
  renderCard,
  renderForm,
  renderHidden,
  renderList,
  shorten,
} from "../parts.ts";
import { describeFilter, readFilter, renderQuery, writeLinkQuery } from "./link-query.ts";
import { listWays, planWay, type ShownWay } from "./ways.ts";

/** Changes several links at once: which links, what to change, and then a plan. */
export const severalPage: Page = {
  path: /^\/links\/several$/,
  needs: "plan_links",
  show: (visit) => {
    const { kept } = visit;
    return kept === undefined ? { kind: "go", to: "/links" } : showForm(visit, kept);
  },
  submit,
};

/** The links that were ticked, or all that a list has found. */
type Selection = {
  readonly paths: readonly string[];
  readonly isAll: boolean;
  readonly search: string;
  readonly filters: readonly FilterInput[];
};

/** A page of the list has fewer. */
const mostPaths = 200;

function readSelection(form: Form): Selection {
  return {
    paths: form.readAll("path").slice(0, mostPaths),
    isAll: form.has("all"),
    search: form.read("search"),
    filters: form.readAll("filter").map(readFilter),
  };
}

function isEmpty({ isAll, paths, search, filters }: Selection): boolean {
  return isAll ? search === "" && filters.length === 0 : paths.length === 0;
}

function writeSelection({ isAll, paths, search, filters }: Selection): JsonObject {
  if (!isAll) return { filters: [{ field: "path", condition: "in", value: paths }] };
  return { ...(filters.length > 0 && { filters }), ...(search !== "" && { search }) };
}

function writeBack({ search, filters }: Selection): string {
  return `/links${writeLinkQuery({ search, filters, sort: "newest", page: 1 })}`;
}

async function submit(visit: Visit, form: Form): Promise<Reply> {
  const selection = readSelection(form);
  const change = planWay(form.read("way"), form);
  if (isEmpty(selection) || change === undefined) return showForm(visit, form);
  const args = { ...writeSelection(selection), ...change };
  const answer = await visit.account.call("plan_links", args);
  return answer.kind === "done" ? goToPlan(answer.result) : showForm(visit, form, answer.failure);
}

async function showForm(visit: Visit, form: Form, failure?: Failure): Promise<Reply> {
  const { account } = visit;
  const selection = readSelection(form);
  const list = { name: "Links", address: writeBack(selection) };
  if (isEmpty(selection)) return { kind: "go", to: list.address };
  const [count, ways] = await Promise.all([
    countSelected(visit, selection),
    listWays(account, form),
  ]);
  const way = form.read("way");
  const chosen = ways.some(({ name }) => name === way) ? way : ways[0]?.name;
  const change = html`<p class="soft">
      Waypost shows you a plan first. Nothing changes until you approve it.
    </p>
    ${renderOthers([], failure)}
    <div role="group" aria-label="What to change">
      ${ways.map((each) => renderWay(each, each.name === chosen))}
    </div>
    <div class="buttons"><button class="main">Show plan</button></div>`;
  const body = [
    renderQuery(selection),
    renderBox("Which links", { inside: renderSelection(selection) }),
    renderCard("What to change", { inside: change }),
  ];
  const attributes = html`class="stack narrow" ${renderGuard(failure !== undefined)}`;
  return {
    kind: "page",
    title: describeSelection(selection, count),
    above: list,
    body: renderForm(visit, "/links/several", body, attributes),
    status: failure === undefined ? 200 : 422,
  };
}

/** Undefined if it cannot be counted now. */
async function countSelected(
  { account }: Visit,
  selection: Selection,
): Promise<number | undefined> {
  if (!selection.isAll) return selection.paths.length;
  const found = await account.tryCall("list_links", { ...writeSelection(selection), limit: 1 });
  return found && (found.meta?.count ?? 0);
}

function describeSelection({ isAll }: Selection, count: number | undefined): string {
  if (count === undefined) return "Change all matching links";
  const links = countThings(count, "link");
  return isAll ? `Change all ${links} that match` : `Change ${links}`;
}

/** The plan shows the whole paths. */
const mostOfPath = 120;

/** Each item as a person sees it, followed by its field: texts that repeat compress well. */
function renderSelection({ isAll, paths, search, filters }: Selection): Part {
  if (!isAll) {
    const chips = paths.map((path) => {
      return renderChip(`/${shorten(path, mostOfPath)}`, renderHidden("path", path));
    });
    return renderList(chips, "chips");
  }
  const texts = [...(search === "" ? [] : [`Search: ${search}`]), ...filters.map(describeFilter)];
  const chips = texts.map((text) => renderChip(text));
  return [renderList(chips, "chips"), renderHidden("all", "on")];
}

function renderChip(text: string, sent?: Part): Html {
  return html`<li class="tag"><bdi>${text}</bdi>${sent}</li>`;
}

function renderWay({ name, title, fields }: ShownWay, isChosen: boolean): Html {
  const checked = isChosen && html` checked`;
  return html`<div class="way">
    <label class="check">
      <input type="radio" name="way" value="${name}" ${checked} /><span>${title}</span>
    </label>
    <div role="group" aria-label="${title}">${fields}</div>
  </div>`;
}
