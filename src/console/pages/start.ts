import type { JsonObject } from "../../contract/json.ts";
import { quoteWord } from "../../text/quote-word.ts";
import type { Account, Connection, Waiting } from "../account.ts";
import { renderFollow } from "../follow.ts";
import { html, type Html } from "../html.ts";
import { describeJob, isRunning, renderCounts, renderProgress } from "../job-parts.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderFacts, renderNote } from "../parts.ts";
import { readRecords, readText } from "../read.ts";
import { historyAddress, renderChanges } from "../render-changes.ts";

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

/** An MCP client, and the text that connects it, ready to be copied. */
type Client = { readonly name: string; readonly where: Html; readonly block: string };

function renderConnection({ account, isHere }: Visit): Html | string {
  const { connection } = account;
  // A command of this machine is of no use on another one, and tells of its folders.
  const clients = listClients(isHere ? connection : { ...connection, command: undefined });
  if (clients.length === 0) return "";
  return html`<section class="card" aria-labelledby="connect">
    <h2 id="connect">Connect your assistant</h2>
    <div class="inside"><div>${clients.map(renderClient)}</div></div>
  </section>`;
}

function renderClient({ name, where, block }: Client, index: number): Html {
  const id = `client-${index}`;
  // The first one shows what there is to be seen in the others.
  const open = index === 0 ? html` open` : "";
  return html`<details class="client" name="client" ${open}>
    <summary>${name}</summary>
    <div>
      <p class="soft">${where}</p>
      <pre id="${id}" tabindex="0" role="group" aria-label="${name}">${block}</pre>
      <div>
        <button
          type="button"
          class="small"
          data-copy="${id}"
          aria-label="Copy the configuration for ${name}"
        >
          Copy
        </button>
      </div>
    </div>
  </details>`;
}

function listClients({ command, mcp, secret }: Connection): readonly Client[] {
  const overHttp = mcp === undefined ? [] : [describeHttp(mcp, secret)];
  if (command === undefined) return overHttp;
  const started = { command: "node", args: command };
  const words = ["node", ...command].map(quoteWord).join(" ");
  return [
    {
      name: "Claude Desktop",
      where: html`Add this to <code>claude_desktop_config.json</code> (Settings, Developer, Edit
        Config).`,
      block: writeJson({ mcpServers: { waypost: started } }),
    },
    {
      name: "Claude Code",
      where: html`Run this in a terminal.`,
      block: `claude mcp add waypost -- ${words}`,
    },
    {
      name: "VS Code",
      where: html`Add this to <code>.vscode/mcp.json</code>.`,
      block: writeJson({ servers: { waypost: { type: "stdio", ...started } } }),
    },
    {
      name: "Cursor",
      where: html`Add this to <code>.cursor/mcp.json</code>.`,
      block: writeJson({ mcpServers: { waypost: started } }),
    },
    ...overHttp,
  ];
}

function describeHttp(url: string, secret: string): Client {
  const headers = { Authorization: `Bearer <${secret}>` };
  return {
    name: "Any client over HTTP",
    where: html`Replace the text in angle brackets with ${secret}.`,
    block: writeJson({ mcpServers: { waypost: { type: "http", url, headers } } }),
  };
}

function writeJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2);
}
