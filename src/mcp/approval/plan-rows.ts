import { describeRow } from "../../bulk/present.ts";
import { limits } from "../../contract/limits.ts";
import { readPageNumber, readRowNumber } from "../../network/read-request.ts";
import { countPlannedWrites, writeActions, type PlanRow } from "../../state/plans.ts";
import type { State } from "../../state/state.ts";
import { escapeText } from "../../text/escape.ts";
import { showAddress } from "../../text/show-address.ts";
import { quote } from "../../text/show-hidden.ts";
import type { Question } from "./question.ts";
import { writeLabel } from "../../text/write-label.ts";
import { renderChange, renderWarnings } from "./question-html.ts";
import { writeValue, type AppNames } from "./question-text.ts";

/** Renders the rows of a plan page by page, so that the approver can read every row. */

export type PlanPage = {
  readonly rows: readonly PlanRow[];
  /** The most clicked links, shown first in a long list. */
  readonly mostClicked: readonly PlanRow[];
  readonly names: AppNames;
  /** Starts at 1. */
  readonly page: number;
  readonly total: number;
  readonly isOne: boolean;
};

export type PlanPart = { readonly page: number; readonly row?: number | undefined };

export const rowsPerPage = 25;
/** A list of up to this many rows has no separate section for the most clicked links. */
const shortList = 10;

/** Reads the pending rows of a plan. Returns undefined if the plan no longer exists. */
export async function readPlanPage(
  { plans, jobs }: Pick<State, "plans" | "jobs">,
  { plan_id, most_clicked = [], names = {} }: NonNullable<Question["rows"]>,
  { page: wanted, row: position }: PlanPart,
): Promise<PlanPage | undefined> {
  const plan = await plans.find(plan_id);
  if (plan === undefined) return undefined;
  const job = await jobs.findOfPlan(plan_id);
  const total =
    job === undefined ? countPlannedWrites(plan.counts) : job.counts.left + job.counts.unknown;
  const page = Math.min(wanted, countPages(total));
  const isOne = position !== undefined;
  const part = { offset: (page - 1) * rowsPerPage, limit: rowsPerPage };
  const mostClicked = await Promise.all(
    isOne || total <= shortList
      ? []
      : most_clicked.map((from) => plans.listRows(plan_id, { from, limit: 1 })),
  );
  const shared = { mostClicked: mostClicked.flat(), names, page, total, isOne };
  if (job !== undefined && !isOne) {
    const open = await jobs.listReceipts(job, { only: "open", ...part });
    return { rows: open, ...shared };
  }
  const place = isOne ? { from: position, limit: 1 } : part;
  return { rows: await plans.listRows(plan_id, { actions: writeActions, ...place }), ...shared };
}

export function readPlanPart(params: URLSearchParams): PlanPart {
  return { page: readPageNumber(params), row: readRowNumber(params) };
}

function countPages(total: number): number {
  return Math.max(1, Math.ceil(total / rowsPerPage));
}

export function renderPlanPage({ rows, mostClicked, names, page, total, isOne }: PlanPage): string {
  if (isOne) {
    const items = rows.map((row) => renderRow(row, names));
    const way = renderNav([`<a href="?page=1">Show all links</a>`]);
    return renderList("rows", `One of ${total} links`, items, way);
  }
  const render = (row: PlanRow) => renderShort(row, names);
  const first = (page - 1) * rowsPerPage + 1;
  const last = first + rows.length - 1;
  const heading = total === 0 ? "No links left" : `Links ${first} to ${last} of ${total}`;
  const links = renderPageLinks(page, countPages(total));
  const best = mostClicked.map(render);
  return `${best.length === 0 ? "" : renderList("best", "Most clicked", best)}
${renderList("rows", heading, rows.map(render), links, first)}`;
}

function renderList(
  id: string,
  heading: string,
  items: readonly string[],
  ...[links = "", first = 1]: readonly [links?: string, first?: number]
): string {
  return `<section aria-labelledby="${id}">
<h2 id="${id}">${heading}</h2>
<ol class="rows" start="${first}">
${items.join("\n")}
</ol>
${links}
</section>`;
}

function renderNav(links: readonly string[]): string {
  return `<nav aria-label="Pages of links">${links.join(" ")}</nav>`;
}

/** Longer rows are truncated, and link to a page with the full row. */
const longestRow = 2000;
const mostOfText = 80;

function renderShort(row: PlanRow, names: AppNames): string {
  const whole = renderRow(row, names);
  if (whole.length <= longestRow) return whole;
  const more = `<p><a href="?row=${row.position}">Show this link in full</a></p></li>`;
  return renderRow(row, names, mostOfText).replace(/<\/li>$/, more);
}

function renderPageLink(to: number, text: string): string {
  return `<a href="?page=${to}">${text}</a>`;
}

function renderPageLinks(page: number, last: number): string {
  if (last === 1) return "";
  const links = [
    ...(page > 2 ? [renderPageLink(1, "First")] : []),
    ...(page > 1 ? [renderPageLink(page - 1, "Previous")] : []),
    `<span>Page ${page} of ${last}</span>`,
    ...(page < last ? [renderPageLink(page + 1, "Next")] : []),
    ...(page < last - 1 ? [renderPageLink(last, "Last")] : []),
  ];
  return renderNav(links);
}

const acts: Readonly<Record<PlanRow["action"], string>> = {
  create: "Create",
  update: "Change",
  delete: "Delete",
  unchanged: "Keep",
  conflict: "Leave out",
  invalid: "Leave out",
};

function renderRow(
  row: PlanRow,
  names: AppNames,
  most: number = limits.web_address_characters,
): string {
  const { action, path, before } = row;
  const { target, about, ...described } = describeRow(row);
  const changes = Object.entries(described.changes).flatMap(([field, { from, to }]) => {
    // The path of a new link is already shown as the row's heading.
    if (before === null && field === "path" && to === path) return [];
    const old = before === null ? undefined : writeValue(from, names);
    return [renderField(field, old, to, names, most)];
  });
  return `<li><p><strong class="${action}">${acts[action]}</strong>
<span class="value">${escapeText(quote(target, most))}</span>
${about.length === 0 ? "" : `<span class="also">${escapeText(about.join(", "))}</span>`}</p>
${changes.length === 0 ? "" : `<dl>${changes.join("")}</dl>`}</li>`;
}

function renderField(
  ...[field, old, to, names, most]: readonly [string, string | undefined, unknown, AppNames, number]
): string {
  const { warnings = [] } = typeof to === "string" ? (showAddress(to) ?? {}) : {};
  const [before, after] = cutAlike(old, writeValue(to, names), most);
  const value = renderChange(before, after) + renderWarnings(warnings);
  return `<div><dt>${escapeText(writeLabel(field))}</dt><dd>${value}</dd></div>`;
}

/** Truncates the old and the new text to the part around their first difference. */
function cutAlike(
  old: string | undefined,
  to: string,
  most: number,
): readonly [string | undefined, string] {
  let start = 0;
  if (old !== undefined) while (start < to.length && old[start] === to[start]) start += 1;
  const from = old === undefined ? 0 : Math.max(0, start - Math.ceil(most / 4));
  return [old === undefined ? undefined : cut(old, from, most), cut(to, from, most)];
}

function cut(text: string, from: number, most: number): string {
  if (text.length <= most) return text;
  const part = text.slice(from, from + most).toWellFormed();
  return `${from > 0 ? "…" : ""}${part}${from + most < text.length ? "…" : ""}`;
}
