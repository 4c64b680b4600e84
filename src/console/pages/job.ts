import type { JsonObject } from "../../contract/json.ts";
import { createActPage } from "../act.ts";
import { renderFollow } from "../follow.ts";
import { html, type Html } from "../html.ts";
import {
  countRows,
  describeJob,
  isRunning,
  renderProgress,
  renderState,
  type Counts,
} from "../job-parts.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderPaging } from "../list-parts.ts";
import { goToPlan, renderFault, renderPost, renderTable, showMissing } from "../parts.ts";
import { readNumber, readPage, readParam, readRecord, readText } from "../read.ts";

/** One job: how far it is, which of its rows failed and why, and how it is stopped and undone. */

const idPattern = String.raw`/jobs/(?<id>[^/]+)`;

export const jobPage: Page = {
  path: new RegExp(`^${idPattern}$`),
  needs: "get_job",
  show: (visit) => show(visit),
};

export const cancelJobPage = createActPage({
  path: new RegExp(`^${idPattern}/cancel$`),
  needs: "cancel_job",
  back: writeBack,
  run: ({ account, params }) => account.call("cancel_job", { job_id: readParam(params, "id") }),
  done: (_, visit) => ({ kind: "go", to: writeBack(visit) }),
  failed: ({ message }, visit) => show(visit, message),
});

export const undoJobPage = createActPage({
  path: new RegExp(`^${idPattern}/undo$`),
  needs: "plan_links",
  back: writeBack,
  run: ({ account, params }) => account.call("plan_links", { undo: readParam(params, "id") }),
  done: goToPlan,
  failed: ({ message }, visit) => show(visit, message),
});

function writeAddress(id: string): string {
  return `/jobs/${encodeURIComponent(id)}`;
}

function writeBack({ params }: Visit): string {
  return writeAddress(readParam(params, "id"));
}

const gone = showMissing(
  { thing: "job", why: "The job belongs to another key, or ended more than a month ago." },
  { name: "jobs", address: "/jobs" },
);

async function show(visit: Visit, fault?: string): Promise<Reply> {
  const { account, params } = visit;
  const job_id = readParam(params, "id");
  const answer = await account.call("get_job", { job_id });
  if (answer.kind !== "done") return gone;
  const job = readRecord(answer.result, "job");
  const title = describeJob(job);
  const body = html`<div class="head">
      <div>
        <p class="crumbs"><a href="/jobs">Jobs</a></p>
        <h1 dir="auto">${title}</h1>
      </div>
      ${renderActs(visit, job)}
    </div>
    ${renderFault(fault)}
    <div class="stack narrow">${renderProgressCard(job)} ${await renderRows(visit, job)}</div>`;
  return { kind: "page", title, body, status: fault === undefined ? 200 : 422 };
}

function renderActs({ account, formToken }: Visit, job: JsonObject): Html | string {
  const { done, left, unknown } = countRows(job);
  const address = writeAddress(readText(job, "id"));
  const post = (act: string, word: string) =>
    renderPost({ formToken }, `${address}/${act}`, html`<button>${word}</button>`);
  if (isRunning(job)) return account.mayUse("cancel_job") ? post("cancel", "Cancel") : "";
  const mayApply = account.mayUse("plan_links") && account.mayUse("apply_plan");
  if (!mayApply) return "";
  const plan = `/plans/${encodeURIComponent(readText(job, "plan_id"))}`;
  const canGoOn = readText(job, "state") !== "done" && left + unknown > 0;
  return html`${done > 0 ? post("undo", "Undo…") : ""}
  ${canGoOn ? html`<a class="button main" href="${plan}">Resume…</a>` : ""}`;
}

function renderProgressCard(job: JsonObject): Html {
  const follows = isRunning(job) ? renderFollow(true) : "";
  const counts = countRows(job);
  const message = readText(job, "message");
  return html`<section class="card" id="progress" ${follows} aria-label="Progress">
    <div class="inside">
      <div class="split">
        <span class="number">${describeProgress(job, counts)}</span> ${renderState(job)}
      </div>
      ${isRunning(job) ? renderProgress(job) : ""} ${renderCountList(counts)}
      ${message === "" ? "" : html`<p class="warning">${message}</p>`} ${describeState(job, counts)}
    </div>
  </section>`;
}

function describeProgress(job: JsonObject, { ended, all }: Counts): string {
  const [of, total] = [ended.toLocaleString("en"), all.toLocaleString("en")];
  const seconds = readNumber(job, "seconds_left");
  return isRunning(job)
    ? `${of} of ${total}, about ${writeSpan(seconds)} left`
    : `${of} of ${total}`;
}

function writeSpan(seconds: number): string {
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

function renderCountList({ done, rejected, unknown, left }: Counts): Html {
  const told = [
    ["Done", done],
    ["Rejected", rejected],
    ["Unknown", unknown],
    ["Remaining", left],
  ] as const;
  return html`<dl class="counts">
    ${told.map(
      ([name, count]) =>
        html`<div>
          <dt>${name}</dt>
          <dd class="number">${count.toLocaleString("en")}</dd>
        </div>`,
    )}
  </dl>`;
}

function describeState(job: JsonObject, { left, unknown }: Counts): Html | string {
  const text = stateTexts[readText(job, "state")] ?? "";
  const doubt =
    unknown > 0 && !isRunning(job)
      ? "Changes with an unknown result may have been made. Check those links before you resume."
      : "";
  const rest = left === 0 ? "" : text;
  return rest === "" && doubt === "" ? "" : html`<p class="soft">${rest} ${doubt}</p>`;
}

const stateTexts: Readonly<Record<string, string>> = {
  running: "The job continues even if you leave this page.",
  cancelled: "Finished changes stay. The remaining ones were not made.",
  interrupted: "The job was interrupted. You can resume it.",
};

const rowsPerPage = 25;

/** Those that failed, where some have; or all of them. */
async function renderRows({ account, url }: Visit, job: JsonObject): Promise<Html | string> {
  const id = readText(job, "id");
  const { failed, all } = countRows(job);
  const isAll = failed === 0 || url.searchParams.get("rows") === "all";
  const page = readPage(url);
  const offset = (page - 1) * rowsPerPage;
  const only = isAll ? {} : { only: "failed" as const };
  const rows = (await account.listRows(id, { offset, limit: rowsPerPage, ...only })) ?? [];
  const count = isAll ? all : failed;
  const meta = { page, last: Math.max(1, Math.ceil(count / rowsPerPage)) };
  const kind = isAll ? "?rows=all&page=" : "?page=";
  const shown = rows.map((row) => renderRow(row, account.mayUse("get_link")));
  const follows = isRunning(job) ? renderFollow(true) : "";
  return html`<section class="card" id="rows" ${follows} aria-label="Links of this job">
    ${failed === 0 ? "" : renderChoice(writeAddress(id), isAll, { failed, all })}
    ${renderTable(isAll ? "Links of this job" : "Links that failed", columns, shown)}
    ${renderPaging(meta, "links", writeAddress(id) + kind)}
  </section>`;
}

function renderChoice(
  address: string,
  isAll: boolean,
  { failed, all }: Pick<Counts, "failed" | "all">,
): Html {
  const here = html` aria-current="true"`;
  return html`<nav class="choice" aria-label="Which links">
    <a href="${address}" ${isAll ? "" : here}>Failed <span class="number">${failed}</span></a>
    <a href="${address}?rows=all" ${isAll ? here : ""}>All <span class="number">${all}</span></a>
  </nav>`;
}

const columns = [{ name: "Link" }, { name: "Result", look: "end" }];

const acts: Readonly<Record<string, string>> = {
  create: "create",
  update: "change",
  delete: "delete",
};

const outcomes: Readonly<Record<string, readonly [word: string, look: string]>> = {
  done: ["Done", "tag good"],
  rejected: ["Rejected", "tag grave"],
  unknown: ["Unknown", "tag warn"],
  left: ["Remaining", "tag"],
};

function renderRow(row: JsonObject, mayLook: boolean): Html {
  const [id, path, action] = [readText(row, "id"), readText(row, "path"), readText(row, "action")];
  const [word, look] = outcomes[readText(row, "outcome")] ?? ["", "tag"];
  const message = readText(row, "message");
  const name = path === "" ? id : `/${path}`;
  const isGone = action === "delete" && readText(row, "outcome") === "done";
  const place = readText(row, "row") === "" ? "" : `Row ${readText(row, "row")}, `;
  return html`<tr>
    <td>
      ${
        id !== "" && mayLook && !isGone
          ? html`<a class="line" href="/links/${encodeURIComponent(id)}" dir="auto">${name}</a>`
          : html`<span class="line" dir="auto">${name}</span>`
      }
      <span class="line soft">${place}${acts[action] ?? action}</span>
      ${message === "" ? "" : html`<p class="bad" dir="auto">${message}</p>`}
    </td>
    <td class="end"><span class="${look}">${word}</span></td>
  </tr>`;
}
