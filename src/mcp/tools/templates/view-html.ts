import { base, controls } from "../../../look/styles.ts";
import { tokens, themedTokens } from "../../../look/tokens.ts";
import { viewData } from "./run-template.ts";

/**
 * The view of `preview_template`: an HTML document without external resources. It exchanges
 * JSON-RPC messages with the client (MCP Apps), and shows the page in a frame without scripts.
 */

const style = `${tokens}${themedTokens}${base}${controls}
body { background: none; padding: var(--s3); }
.bar { margin-bottom: var(--s3); gap: var(--s2); }
[aria-pressed="true"] { background: var(--accent); border-color: var(--accent);
  color: var(--on-accent); }
[aria-pressed="true"]:hover { background: var(--accent-over); }
.stage { display: flex; justify-content: center; }
.device { background: var(--side); border: 1px solid var(--edge); border-radius: 36px;
  padding: 14px; width: 320px; max-width: 100%; height: 600px; }
.device.desktop { width: 100%; border-radius: var(--rounder); padding: 6px; height: 480px; }
iframe { display: block; width: 100%; height: 100%; border: 0; border-radius: 24px;
  background: Canvas; }
.desktop iframe { border-radius: var(--round); }
h2 { margin: var(--s4) 0 var(--s1); }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 2px var(--s3) 2px 0; }
th { font-weight: 500; color: var(--soft); }
td:last-child { white-space: pre-wrap; overflow-wrap: anywhere; font-family: var(--mono); }
[hidden] { display: none !important; }
`;

const markup = `
<div id="shown" hidden>
<div class="bar buttons" role="group" aria-label="Device">
<button type="button" class="small" data-device="ios" aria-pressed="true">iOS</button>
<button type="button" class="small" data-device="android" aria-pressed="false">Android</button>
<button type="button" class="small" data-device="desktop" aria-pressed="false">Desktop</button>
</div>
<div class="stage"><div class="device">
<iframe id="page" title="Preview page" sandbox referrerpolicy="no-referrer"></iframe>
</div></div>
</div>
<div id="problems" hidden><h2>Problems</h2><table></table></div>
<div id="changes" hidden><h2>Compared with the live page</h2><table></table></div>
<p id="state" role="status">Waiting for the page…</p>
`;

/** Plain JavaScript that old browsers can run, because no build step compiles it. */
const script = `
"use strict";
const find = (name) => document.getElementById(name);
let pages = {};
let device = "ios";

function send(message) { parent.postMessage({ jsonrpc: "2.0", ...message }, "*"); }

function show() {
  const html = pages[device] ?? pages.ios ?? "";
  if (find("page").srcdoc !== html) find("page").srcdoc = html;
  document.querySelector(".device").className = "device " + device;
  for (const button of document.querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.dataset.device === device));
  }
}

function fill(name, rows) {
  const table = find(name).querySelector("table");
  table.replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    cells.forEach((text, index) => {
      const cell = document.createElement(index === 0 ? "th" : "td");
      cell.textContent = text;
      row.append(cell);
    });
    return row;
  }));
  find(name).hidden = rows.length === 0;
}

function place(problem) {
  const { field = "", line, column } = problem;
  return line === undefined ? field : field + ", line " + line + ", column " + column;
}

function receive({ structuredContent = {}, _meta = {} }) {
  const { html, error, problems = error?.problems ?? [] } = structuredContent;
  const data = _meta["${viewData}"] ?? {};
  pages = data.pages ?? (html === undefined ? {} : { ios: html });
  fill("problems", problems.map((problem) => [place(problem), problem.message]));
  fill("changes", (data.changes ?? []).map(({ name, text }) => [name, text]));
  find("shown").hidden = Object.keys(pages).length === 0;
  find("state").textContent = error?.message ?? "";
  find("state").hidden = error === undefined || problems.length > 0;
  for (const button of document.querySelectorAll("button")) {
    button.hidden = pages[button.dataset.device] === undefined;
  }
  device = data.device ?? "ios";
  show();
  announceSize();
}

/** Applies the client's theme instead of the system's. */
function dress({ theme } = {}) {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}

function announceSize() {
  const { scrollWidth: width, scrollHeight: height } = document.documentElement;
  send({ method: "ui/notifications/size-changed", params: { width, height } });
}

document.querySelector(".bar").addEventListener("click", ({ target }) => {
  if (target.dataset.device === undefined) return;
  device = target.dataset.device;
  show();
  announceSize();
});

addEventListener("message", ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== "2.0") return;
  if (data.id === 1 && data.method === undefined) {
    dress(data.result?.hostContext);
    send({ method: "ui/notifications/initialized", params: {} });
    announceSize();
  }
  if (data.method === "ui/notifications/host-context-changed") dress(data.params);
  if (data.method === "ui/notifications/tool-result") receive(data.params ?? {});
  if (data.method === "ping" || data.method === "ui/resource-teardown") {
    send({ id: data.id, result: {} });
  }
});

send({
  id: 1,
  method: "ui/initialize",
  params: {
    protocolVersion: "2026-01-26",
    appInfo: { name: "waypost", version: "1.0.0" },
    appCapabilities: {},
  },
});
`;

export const templateViewHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Preview page</title>
<style>${style}</style>
</head>
<body>
${markup}
<script>${script}</script>
</body>
</html>
`;
