import type { JsonObject } from "../../contract/json.ts";
import type { Account } from "../account.ts";
import { renderFollow } from "../follow.ts";
import { html, type Html } from "../html.ts";
import { describeJob, isRunning, renderCounts, renderProgress, renderState } from "../job-parts.ts";
import { leadToLast, renderAnswer, renderPaging } from "../list-parts.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderTable } from "../parts.ts";
import { readPage, readRecord, readRecords, readText } from "../read.ts";
import { renderTime } from "../render-changes.ts";

/** All jobs of the key, the newest first; those that run are followed. */
export const jobsPage: Page = {
  path: /^\/jobs$/,
  entry: {
    name: "Jobs",
    address: "/jobs",
    icon: "M3 4.5h1M6.5 4.5H13M3 8h1M6.5 8H13M3 11.5h1M6.5 11.5H13",
    group: "Service",
  },
  needs: "list_jobs",
  show,
};

async function show({ account, url }: Visit): Promise<Reply> {
  const answer = await account.call("list_jobs", { page: readPage(url) });
  const past = leadToLast(url, answer);
  if (past !== undefined) return past;
  const list = renderAnswer(answer, (result) => renderList(result, account));
  const body = html`<div class="head"><h1>Jobs</h1></div>
    <p class="soft">
      A job changes many links at once. It runs in the background, and you can cancel or undo it.
    </p>
    ${list}`;
  return { kind: "page", title: "Jobs", body };
}

const columns = [
  { name: "Job" },
  { name: "State", look: "state" },
  { name: "Links", look: "late amount" },
  { name: "Started", look: "late when" },
];

function renderList(result: JsonObject, account: Account): Html {
  const jobs = readRecords(result, "jobs");
  const follows = renderFollow(jobs.some(isRunning));
  const list =
    jobs.length === 0
      ? html`<div class="empty">
          <p>No jobs yet. A job starts when you change several links at once or import a file.</p>
        </div>`
      : html`${renderTable(
          "Jobs",
          columns,
          jobs.map((job) => renderRow(job, account)),
        )}
        ${renderPaging(readRecord(result, "meta"), "jobs", "/jobs?page=")}`;
  return html`<section class="card jobs" id="jobs" ${follows} aria-label="Jobs">${list}</section>`;
}

function renderRow(job: JsonObject, account: Account): Html {
  const address = `/jobs/${encodeURIComponent(readText(job, "id"))}`;
  const time = renderTime(readText(job, "created_at"), account);
  return html`<tr>
    <td>
      <a class="line" href="${address}" dir="auto">${describeJob(job)}</a>
      <span class="line soft early">${renderCounts(job)}, ${time}</span>
      ${isRunning(job) ? renderProgress(job) : ""}
    </td>
    <td class="state">${renderState(job)}</td>
    <td class="late soft number">${renderCounts(job)}</td>
    <td class="late soft">${time}</td>
  </tr>`;
}
