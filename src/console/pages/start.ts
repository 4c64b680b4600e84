import type { JsonObject } from "../../contract/json.ts";
import type { Account, Waiting } from "../account.ts";
import { renderFollow } from "../follow.ts";
import { html, type Html } from "../html.ts";
import { describeJob, isRunning, renderCounts, renderProgress } from "../job-parts.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderFacts, renderNote } from "../parts.ts";
import { readRecords, readText } from "../read.ts";
import { historyAddress, renderChanges } from "../render-changes.ts";
import { renderConnection } from "./connect.ts";

/** The first page: how to begin, how it stands, what waits, and what happened last. */
export const startPage: Page = {
  path: /^\/$/,
  entry: { name: "Start", address: "/", icon: "M2.5 7.5 8 3l5.5 4.5M4 6.5V13h8V6.5" },
  show,
};

async function show(visit: Visit): Promise<Reply> {
  const { account } = visit;
  const [waiting, jobs, changes] = await Promise.all([
    account.listWaiting(),
    readList(account, "list_jobs", "jobs"),
    readList(account, "list_changes", "changes"),
  ]);
  const running = jobs.filter(isRunning);
  const body = html`<div class="head"><h1>Start</h1></div>
    ${renderNote(visit.url)}
    <div class="columns">
      <div class="column">
        ${renderWaiting(waiting)} ${renderJobs(running)} ${renderConnection(visit)}
      </div>
      <div class="column">
        <section class="card" aria-labelledby="service">
          <h2 id="service">Service</h2>
          <div class="inside">${renderFacts(account.facts)}</div>
        </section>
        <section class="card" id="changes" ${renderFollow(false)} aria-labelledby="last">
          <h2 id="last">Recent activity</h2>
          <div class="inside">
            ${renderChanges(changes.slice(0, mostChanges), visit)}
            ${
              account.mayUse("list_changes")
                ? html`<p><a href="${historyAddress}">View full history</a></p>`
                : ""
            }
          </div>
        </section>
      </div>
    </div>`;
  return { kind: "page", title: "Start", body };
}

const mostChanges = 8;

/** What the key may not list is not there. */
async function readList(
  { mayUse, call }: Account,
  tool: string,
  member: string,
): Promise<readonly JsonObject[]> {
  if (!mayUse(tool)) return [];
  const answer = await call(tool, {});
  return answer.kind === "done" ? readRecords(answer.result, member) : [];
}

/** Whoever hears the page is told how many they are, and not each second that passes. */
function renderWaiting(waiting: readonly Waiting[]): Html {
  const count = waiting.length;
  const told =
    count === 1 ? "1 approval is waiting for you." : `${count} approvals are waiting for you.`;
  return html`<p id="told" ${renderFollow(false)} role="status" class="hidden">
      ${count === 0 ? "" : told}
    </p>
    <div id="asked" ${renderFollow(false)} ${count === 0 ? html` class="hidden"` : ""}>
      ${count === 0 ? "" : renderAsked(waiting)}
    </div>`;
}

function renderAsked(waiting: readonly Waiting[]): Html {
  const rows = waiting.map(
    ({ id, title, lead, origin, term }) =>
      html`<li class="split asking">
        <div>
          <strong dir="auto">${title}</strong>
          <p class="soft">${lead}.</p>
          <p class="hint">${origin}. ${term}</p>
        </div>
        <a class="button small" href="/waiting/${encodeURIComponent(id)}">Review</a>
      </li>`,
  );
  return html`<section class="card" aria-labelledby="waiting">
    <h2 id="waiting">Waiting for you</h2>
    <div class="inside">
      <ul class="list">
        ${rows}
      </ul>
    </div>
  </section>`;
}

function renderJobs(jobs: readonly JsonObject[]): Html {
  const isAny = jobs.length > 0;
  const list = html`<section class="card" aria-labelledby="running">
    <h2 id="running">Running jobs</h2>
    <div class="inside">
      <ul class="list">
        ${jobs.map(renderJob)}
      </ul>
    </div>
  </section>`;
  return html`<div id="jobs" ${renderFollow(isAny)} ${isAny ? "" : html` class="hidden"`}>
    ${isAny ? list : ""}
  </div>`;
}

function renderJob(job: JsonObject): Html {
  const address = `/jobs/${encodeURIComponent(readText(job, "id"))}`;
  return html`<li>
    <div class="split">
      <a href="${address}" dir="auto">${describeJob(job)}</a>
      <span class="number soft">${renderCounts(job)}</span>
    </div>
    ${renderProgress(job)}
  </li>`;
}
