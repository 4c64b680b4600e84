import { createActPage } from "../act.ts";
import { html, type Html, type Part } from "../html.ts";
import { goToLast, renderAnswer, renderPaging, renderRows } from "../list-parts.ts";
import type { Page, Reply, PageRequest } from "../page.ts";
import {
  goToPlan,
  renderBox,
  renderFacts,
  renderFollow,
  renderPost,
  renderTable,
  showMissing,
  writeNumber,
  type RowColumn,
} from "../parts.ts";
import { readPage, readParam } from "../read-address.ts";
import type { ListedJob, JobRow } from "../records.ts";
import { renderTime } from "../render-changes.ts";

/** The list of a key's jobs, newest first, and each job's page. Running jobs are updated live. */

const list = { name: "Jobs", address: "/jobs" };

const jobsPage: Page = {
  path: /^\/jobs$/,
  entry: {
    ...list,
    icon: "M3 4.5h1M6.5 4.5H13M3 8h1M6.5 8H13M3 11.5h1M6.5 11.5H13",
    group: "Service",
  },
  needs: "list_jobs",
  show: showJobs,
};

const idPattern = String.raw`/jobs/(?<id>[^/]+)`;

const jobPage: Page = {
  path: new RegExp(`^${idPattern}$`),
  needs: "get_job",
  show: (request) => show(request),
};

const cancelJobPage = createActPage({
  path: new RegExp(`^${idPattern}/cancel$`),
  needs: "cancel_job",
  back: writeBack,
  run: ({ account, params }) => account.act("cancel_job", { job_id: readParam(params, "id") }),
  done: (_, request) => ({ kind: "go", to: writeBack(request) }),
  failed: ({ message }, request) => show(request, message),
});

const undoJobPage = createActPage({
  path: new RegExp(`^${idPattern}/undo$`),
  needs: "plan_links",
  back: writeBack,
  run: ({ account, params }) => account.call("plan_links", { undo: readParam(params, "id") }),
  done: goToPlan,
  failed: ({ message }, request) => show(request, message),
});

export const jobPages: readonly Page[] = [jobsPage, jobPage, cancelJobPage, undoJobPage];

export function writeJobAddress(id: string): string {
  return `/jobs/${encodeURIComponent(id)}`;
}

function writeBack({ params }: PageRequest): string {
  return writeJobAddress(readParam(params, "id"));
}

async function showJobs({ account, url }: PageRequest): Promise<Reply> {
  const answer = await account.call("list_jobs", { page: readPage(url) });
  const past = goToLast(url, answer);
  if (past !== undefined) return past;
  const columns: readonly RowColumn<ListedJob>[] = [
    {
      name: "Job",
      cell: (job) =>
        html`<a class="line" href="${writeJobAddress(job.id)}" dir="auto">${describeJob(job)}</a>
          <span class="line soft early">
            ${renderCounts(job)}, ${renderTime(job.created_at, account)}
          </span>
          ${isRunning(job) && renderProgress(job)}`,
    },
    { name: "State", look: "state", cell: renderState },
    { name: "Links", look: "late soft number amount", cell: renderCounts },
    {
      name: "Started",
      look: "late soft when",
      cell: ({ created_at }) => renderTime(created_at, account),
    },
  ];
  const shown = renderAnswer(answer, ({ jobs, meta }) => {
    const below = renderRows({
      things: "Jobs",
      columns,
      rows: jobs,
      empty: "No jobs yet. A job starts when you change several links at once or import a file.",
      paging: renderPaging(meta, "jobs", "/jobs?page="),
    });
    const attributes = html`id="jobs" ${renderFollow(jobs.some(isRunning))}`;
    return renderBox("Jobs", { below, look: "jobs", attributes });
  });
  const body = html`<p class="soft">
      A job changes many links at once. It runs in the background, and you can cancel or undo it.
    </p>
    ${shown}`;
  return { kind: "page", title: "Jobs", body };
}

async function show(request: PageRequest, fault?: string): Promise<Reply> {
  const { account, params } = request;
  const answer = await account.call("get_job", { job_id: readParam(params, "id") });
  if (answer.kind === "failed") {
    return showMissing(
      "job",
      "The job belongs to another key, or ended more than a month ago.",
      list,
    );
  }
  const { job } = answer.result;
  return {
    kind: "page",
    title: describeJob(job),
    above: list,
    actions: renderButtons(request, job),
    fault,
    body: html`<div class="stack narrow">
      ${renderProgressCard(job)} ${await renderJobRows(request, job)}
    </div>`,
  };
}

function renderButtons(request: PageRequest, job: ListedJob): Part {
  const { mayUse } = request.account;
  const { done, left, unknown } = countRows(job);
  const post = (act: string, word: string) =>
    renderPost(request, `${writeJobAddress(job.id)}/${act}`, html`<button>${word}</button>`);
  if (isRunning(job)) return mayUse("cancel_job") && post("cancel", "Cancel");
  if (!mayUse("plan_links") || !mayUse("apply_plan")) return "";
  const plan = `/plans/${encodeURIComponent(job.plan_id)}`;
  const canResume = job.state !== "done" && left + unknown > 0;
  return [
    done > 0 && post("undo", "Undo…"),
    canResume && html`<a class="button main" href="${plan}">Resume…</a>`,
  ];
}

function renderProgressCard(job: ListedJob): Html {
  const { done, rejected, unknown, left, ended, all } = countRows(job);
  const [isOn, seconds] = [isRunning(job), job.seconds_left ?? 0];
  const span = seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
  const text = left === 0 ? undefined : stateTexts[job.state];
  const doubt =
    unknown > 0 &&
    !isOn &&
    "Changes with an unknown result may have been made. Check those links before you resume.";
  const inside = html`<div class="split">
      <span class="number"
        >${writeNumber(ended)} of ${writeNumber(all)}${isOn && `, about ${span} left`}</span
      >
      ${renderState(job)}
    </div>
    ${isOn && renderProgress(job)}
    ${renderFacts(
      [
        ["Done", writeNumber(done)],
        ["Rejected", writeNumber(rejected)],
        ["Unknown", writeNumber(unknown)],
        ["Remaining", writeNumber(left)],
      ],
      "counts number",
    )}
    ${job.message && html`<p class="warning">${job.message}</p>`}
    ${(text || doubt) && html`<p class="soft">${text} ${doubt}</p>`}`;
  const attributes = html`id="progress" ${isOn && renderFollow(true)}`;
  return renderBox("Progress", { inside, attributes });
}

const stateTexts: Readonly<Partial<Record<ListedJob["state"], string>>> = {
  running: "The job continues even if you leave this page.",
  cancelled: "Finished changes stay. The remaining ones were not made.",
  interrupted: "The job was interrupted. You can resume it.",
};

const rowsPerPage = 25;

/** Shows only the failed rows if there are any. The user can switch to all rows. */
async function renderJobRows({ account, url }: PageRequest, job: ListedJob): Promise<Part> {
  const { failed, all } = countRows(job);
  const isAll = failed === 0 || url.searchParams.get("rows") === "all";
  const page = readPage(url);
  const offset = (page - 1) * rowsPerPage;
  const only = isAll ? {} : { only: "failed" as const };
  const rows = (await account.listRows(job.id, { offset, limit: rowsPerPage, ...only })) ?? [];
  const last = Math.max(1, Math.ceil((isAll ? all : failed) / rowsPerPage));
  const address = writeJobAddress(job.id);
  const pages = `${address}${isAll ? "?rows=all&page=" : "?page="}`;
  const title = isAll ? "Links of this job" : "Links that failed";
  const here = html` aria-current="true"`;
  const choice = html`<nav class="choice" aria-label="Which links">
    <a href="${address}" ${!isAll && here}>Failed <span class="number">${failed}</span></a>
    <a href="${address}?rows=all" ${isAll && here}>All <span class="number">${all}</span></a>
  </nav>`;
  const columns: readonly RowColumn<JobRow>[] = [
    { name: "Link", cell: (row) => renderRow(row, account.mayUse("get_link")) },
    { name: "Result", look: "end", cell: ({ outcome }) => renderTag(outcomes[outcome]) },
  ];
  return renderBox("Links of this job", {
    below: [
      failed > 0 && choice,
      renderTable(title, columns, rows),
      renderPaging({ page, last }, "links", pages),
    ],
    attributes: html`id="rows" ${isRunning(job) && renderFollow(true)}`,
  });
}

const acts: Readonly<Record<string, string>> = {
  create: "create",
  update: "change",
  delete: "delete",
};

function renderRow({ id = "", path, row, ...rest }: JobRow, mayLook: boolean): Html {
  const { action, outcome, message } = rest;
  const name = path === undefined ? id : `/${path}`;
  const isGone = action === "delete" && outcome === "done";
  return html`${
      id !== "" && mayLook && !isGone
        ? html`<a class="line" href="/links/${encodeURIComponent(id)}" dir="auto">${name}</a>`
        : html`<span class="line" dir="auto">${name}</span>`
    }
    <span class="line soft">${row !== undefined && `Row ${row}, `}${acts[action] ?? action}</span>
    ${message && html`<p class="bad" dir="auto">${message}</p>`}`;
}

type Tag = readonly [word: string, look: string];

const outcomes: Readonly<Record<JobRow["outcome"], Tag>> = {
  done: ["Done", "tag good"],
  rejected: ["Rejected", "tag grave"],
  unknown: ["Unknown", "tag warn"],
  left: ["Remaining", "tag"],
};

const states: Readonly<Record<ListedJob["state"], Tag>> = {
  running: ["Running", "tag busy"],
  done: ["Done", "tag good"],
  cancelled: ["Cancelled", "tag"],
  interrupted: ["Interrupted", "tag warn"],
};

function renderTag([word, look]: Tag): Html {
  return html`<span class="${look}">${word}</span>`;
}

function renderState({ state }: ListedJob): Html {
  return renderTag(states[state]);
}

export function isRunning({ state }: ListedJob): boolean {
  return state === "running";
}

/** Formats a job as "Moved 17 links to new.example.com". */
export function describeJob({ what }: ListedJob): string {
  return what.charAt(0).toUpperCase() + what.slice(1);
}

function countRows({ counts }: ListedJob) {
  const failed = counts.rejected + counts.unknown;
  const ended = counts.done + failed;
  return { ...counts, failed, ended, all: ended + counts.left };
}

export function renderProgress(job: ListedJob): Html {
  const { ended, all } = countRows(job);
  const [max, label] = [Math.max(1, all), describeJob(job)];
  return html`<progress max="${max}" value="${ended}" aria-label="${label}"></progress>`;
}

/** Renders counts such as "3 of 17, 1 failed". */
export function renderCounts(job: ListedJob): Html {
  const { ended, all, failed } = countRows(job);
  return html`${writeNumber(ended)} of
  ${writeNumber(all)}${failed > 0 && html`, <span class="bad">${failed} failed</span>`}`;
}
