import { quoteWord } from "../../text/escape.ts";
import type { Connection, ListedQuestion } from "../account.ts";
import { html, type Html, type Part } from "../html.ts";
import type { Page, Reply, PageRequest } from "../page.ts";
import { renderCard, renderFacts, renderFollow, renderList } from "../parts.ts";
import type { ListedJob } from "../records.ts";
import { historyAddress, renderChanges } from "../render-changes.ts";
import { describeJob, isRunning, renderCounts, renderProgress, writeJobAddress } from "./jobs.ts";

/** The start page: pending approvals, running jobs, recent activity and setup instructions. */
export const startPage: Page = {
  path: /^\/$/,
  entry: { name: "Start", address: "/", icon: "M2.5 7.5 8 3l5.5 4.5M4 6.5V13h8V6.5" },
  show,
};

async function show(request: PageRequest): Promise<Reply> {
  const { account } = request;
  const [waiting, jobs, changes] = await Promise.all([
    account.listWaiting(),
    account.tryCall("list_jobs", {}),
    account.tryCall("list_changes", {}),
  ]);
  const recent = renderCard("Recent activity", {
    inside: [
      renderChanges((changes?.changes ?? []).slice(0, mostChanges), request),
      account.mayUse("list_changes") &&
        html`<p><a href="${historyAddress}">View full history</a></p>`,
    ],
    attributes: html`id="changes" ${renderFollow(false)}`,
  });
  const body = html`<div class="columns">
    <div class="column">
      ${renderWaiting(waiting)} ${renderJobs((jobs?.jobs ?? []).filter(isRunning))}
      ${renderConnection(request)}
    </div>
    <div class="column">
      ${renderCard("Service", { inside: renderFacts(account.facts) })} ${recent}
    </div>
  </div>`;
  return { kind: "page", title: "Start", body };
}

const mostChanges = 8;

/** Screen readers announce the number of approvals, but not the remaining seconds. */
function renderWaiting(waiting: readonly ListedQuestion[]): Html {
  const count = waiting.length;
  const text =
    count === 1 ? "1 approval is waiting for you." : `${count} approvals are waiting for you.`;
  const rows = waiting.map(
    ({ address, title, lead, origin, term }) =>
      html`<li class="split asking">
        <div>
          <strong dir="auto">${title}</strong>
          <p class="soft">${lead}.</p>
          <p class="hint">${origin}. ${term}</p>
        </div>
        <a class="button small" href="${address}">Review</a>
      </li>`,
  );
  return html`<p id="told" ${renderFollow(false)} role="status" class="hidden">
      ${count > 0 && text}
    </p>
    <div id="asked" ${renderFollow(false)} ${count === 0 && html` class="hidden"`}>
      ${count > 0 && renderCard("Waiting for you", { inside: renderList(rows) })}
    </div>`;
}

function renderJobs(jobs: readonly ListedJob[]): Html {
  const isAny = jobs.length > 0;
  const rows = jobs.map(
    (job) =>
      html`<li>
        <div class="split">
          <a href="${writeJobAddress(job.id)}" dir="auto">${describeJob(job)}</a>
          <span class="number soft">${renderCounts(job)}</span>
        </div>
        ${renderProgress(job)}
      </li>`,
  );
  return html`<div id="jobs" ${renderFollow(isAny)} ${!isAny && html` class="hidden"`}>
    ${isAny && renderCard("Running jobs", { inside: renderList(rows) })}
  </div>`;
}

type ClientSetup = { readonly name: string; readonly where: Html; readonly block: string };

function renderConnection({ account: { connection }, isLocal }: PageRequest): Part {
  // Users of other machines cannot run a local command, and must not see local folder names.
  const clients = listClients(isLocal ? connection : { ...connection, command: undefined });
  const inside = html`<div>${clients.map(renderClient)}</div>`;
  return clients.length > 0 && renderCard("Connect your assistant", { inside });
}

function renderClient({ name, where, block }: ClientSetup, index: number): Html {
  const id = `client-${index}`;
  const label = `Copy the configuration for ${name}`;
  return html`<details class="client" name="client" ${index === 0 && html` open`}>
    <summary>${name}</summary>
    <div>
      <p class="soft">${where}</p>
      <pre id="${id}" tabindex="0" role="group" aria-label="${name}">${block}</pre>
      <div>
        <button type="button" class="small" data-copy="${id}" aria-label="${label}">Copy</button>
      </div>
    </div>
  </details>`;
}

function listClients({ command, mcp, secret }: Connection): readonly ClientSetup[] {
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

function describeHttp(url: string, secret: string): ClientSetup {
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
