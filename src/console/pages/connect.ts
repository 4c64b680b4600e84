import { quoteWord } from "../../text/quote-word.ts";
import type { Connection } from "../account.ts";
import { html, type Html } from "../html.ts";
import type { Visit } from "../page.ts";

/** How each client is connected, ready to be copied. */

type Client = { readonly name: string; readonly where: Html; readonly block: string };

export function renderConnection({ account, isHere }: Visit): Html | string {
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
