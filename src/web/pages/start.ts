import type { JsonObject } from "../../contract/json.ts";
import type { Account, Waiting } from "../account.ts";
import { html, type Html } from "../html.ts";
import { describeJob, isRunning, renderCounts, renderProgress } from "../job-parts.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderNote } from "../parts.ts";
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
        ${renderWaiting(waiting)} ${renderJobs(running)} ${renderConnection(account.connection)}
      </div>
      <div class="column">
        <section class="card" aria-labelledby="service">
          <h2 id="service">Service</h2>
          <div class="inside">${renderFacts(account)}</div>
        </section>
        <section class="card" aria-labelledby="last">
          <h2 id="last">What happened last</h2>
          <div class="inside">
            ${renderChanges(changes.slice(0, mostChanges), visit)}
            ${
              account.mayUse("list_changes")
                ? html`<p><a href="${historyAddress}">Show the whole history</a></p>`
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

function renderFacts({ facts }: Account): Html {
  const rows = facts.map(
    ([name, text]) =>
      html`<div>
        <dt>${name}</dt>
        <dd>${text}</dd>
      </div>`,
  );
  return html`<dl class="facts">${rows}</dl>`;
}

function renderWaiting(waiting: readonly Waiting[]): Html | string {
  if (waiting.length === 0) return "";
  const rows = waiting.map(
    ({ id, title, lead, origin, term }) =>
      html`<li class="split">
        <div>
          <strong dir="auto">${title}</strong>
          <p class="soft">${lead}.</p>
          <p class="hint">${origin}. ${term}</p>
        </div>
        <a class="button small" href="/waiting/${encodeURIComponent(id)}">Look and answer</a>
      </li>`,
  );
  return html`<section class="card" id="asked" data-follow aria-labelledby="waiting">
    <h2 id="waiting">Waiting for you</h2>
    <div class="inside">
      <ul class="list">
        ${rows}
      </ul>
    </div>
  </section>`;
}

/** Looked at again while they run. */
function renderJobs(jobs: readonly JsonObject[]): Html | string {
  if (jobs.length === 0) return "";
  return html`<section class="card" id="jobs" data-follow aria-labelledby="running">
    <h2 id="running">Running</h2>
    <div class="inside">
      <ul class="list">
        ${jobs.map(renderJob)}
      </ul>
    </div>
  </section>`;
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
