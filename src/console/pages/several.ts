import type { FilterInput } from "../../contract/filters.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Failure } from "../account.ts";
import { renderGuard } from "../form-fields.ts";
import { html, type Html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { goToPlan, renderFault, renderHead, renderHidden, shorten } from "../parts.ts";
import { readNumber, readRecord } from "../read.ts";
import { describeFilter, readFilter, writeLinkQuery } from "./link-query.ts";
import { renderQuery } from "./select-links.ts";
import { listWays, planWay, type Way } from "./ways.ts";

/** Several links at once: which they are, what is to become of them, and then the plan of that. */
export const severalPage: Page = {
  path: /^\/links\/several$/,
  needs: "plan_links",
  show: (visit) => {
    const { kept } = visit;
    if (kept === undefined) return Promise.resolve({ kind: "go", to: "/links" });
    const selection = readSelection(kept);
    if (isEmpty(selection)) return Promise.resolve({ kind: "go", to: writeBack(selection) });
    return show(visit, kept, undefined);
  },
  submit,
};

/** Those that were ticked, or all that a list has found. */
type Selection = {
  readonly paths: readonly string[];
  readonly isAll: boolean;
  readonly search: string;
  readonly filters: readonly FilterInput[];
};

/** A page of the list has fewer. */
const mostPaths = 200;

function readSelection(form: Form): Selection {
  const read = (wanted: string) =>
    form.entries.flatMap(([name, value]) => (name === wanted ? [value] : []));
  return {
    paths: read("path").slice(0, mostPaths),
    isAll: form.has("all"),
    search: form.read("search"),
    filters: read("filter").map(readFilter),
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
  const way = form.read("way");
  // Another list may have been searched for meanwhile, or nothing was ticked.
  if (isEmpty(selection)) return { kind: "go", to: writeBack(selection) };
  const wanted = planWay(way, form);
  if (wanted === undefined) return show(visit, form, undefined);
  const answer = await visit.account.call("plan_links", {
    ...writeSelection(selection),
    ...wanted,
  });
  if (answer.kind === "failed") return show(visit, form, answer.failure);
  if (answer.kind === "asks") return show(visit, form, undefined);
  return goToPlan(answer.result);
}

async function show(visit: Visit, form: Form, failure: Failure | undefined): Promise<Reply> {
  const { account, formToken } = visit;
  const selection = readSelection(form);
  const [count, ways] = await Promise.all([
    countSelected(visit, selection),
    listWays(account, form),
  ]);
  const title = describeSelection(selection, count);
  const guard = renderGuard(failure !== undefined);
  const wanted = form.read("way");
  const chosen = ways.some(({ name }) => name === wanted) ? wanted : ways[0]?.name;
  const body = html`${renderHead(title, { name: "Links", address: writeBack(selection) })}
    <form method="post" action="/links/several" class="stack narrow" ${guard}>
      ${renderHidden("form_token", formToken)} ${renderQuery(selection)}
      <section class="card" aria-label="Which links">
        <div class="inside">${renderSelection(selection)}</div>
      </section>
      <section class="card" aria-labelledby="ways">
        <h2 id="ways">What to change</h2>
        <div class="inside">
          <p class="soft">Waypost shows you a plan first. Nothing changes until you approve it.</p>
          ${failure === undefined ? "" : renderFailure(failure)}
          <div role="group" aria-labelledby="ways">
            ${ways.map((way) => renderWay(way, way.name === chosen))}
          </div>
          <div class="buttons"><button class="main">Show plan</button></div>
        </div>
      </section>
    </form>`;
  return { kind: "page", title, body, status: failure === undefined ? 200 : 422 };
}

/** Undefined where it is not known by now. */
async function countSelected(
  { account }: Visit,
  selection: Selection,
): Promise<number | undefined> {
  if (!selection.isAll) return selection.paths.length;
  const answer = await account.call("list_links", { ...writeSelection(selection), limit: 1 });
  if (answer.kind !== "done") return undefined;
  return readNumber(readRecord(answer.result, "meta"), "count");
}

function describeSelection({ isAll }: Selection, count: number | undefined): string {
  if (count === undefined) return "Change all matching links";
  const links = count === 1 ? "1 link" : `${count.toLocaleString("en")} links`;
  return isAll ? `Change all ${links} that match` : `Change ${links}`;
}

/** What is seen of each in one line; its plan shows it whole. */
const mostOfPath = 120;

/** Each as it is sent on, beside what is seen of it: what stands together is packed together. */
function renderSelection({ isAll, paths, search, filters }: Selection): Html {
  const texts = [...(search === "" ? [] : [`Search: ${search}`]), ...filters.map(describeFilter)];
  const items = isAll
    ? texts.map((text) => renderChip(text, ""))
    : paths.map((path) => renderChip(`/${shorten(path, mostOfPath)}`, renderHidden("path", path)));
  return html`<ul class="chips">
      ${items}
    </ul>
    ${isAll ? renderHidden("all", "on") : ""}`;
}

function renderChip(text: string, sent: Html | string): Html {
  return html`<li class="tag"><bdi>${text}</bdi>${sent}</li>`;
}

function renderWay({ name, title, fields }: Way, isChosen: boolean): Html {
  const checked = isChosen ? html` checked` : "";
  return html`<div class="way">
    <label class="check">
      <input type="radio" name="way" value="${name}" ${checked} /><span>${title}</span>
    </label>
    <div role="group" aria-label="${title}">${fields}</div>
  </div>`;
}

function renderFailure({ message, problems = [] }: Failure): Html {
  const texts = problems.length === 0 ? [message] : problems.map((problem) => problem.message);
  return html`${texts.map(renderFault)}`;
}
