import { viewData } from "../../results/tool-result.ts";

/**
 * The view of `preview_template`: one document that fetches nothing. It speaks JSON-RPC with the
 * client that shows it (MCP Apps), and puts the page into a frame that may run nothing.
 */

const style = `
:root { color-scheme: light dark; font: 14px/1.5 system-ui, sans-serif; }
body { margin: 0; padding: 12px; }
.bar { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin-bottom: 12px; }
button { font: inherit; padding: 4px 12px; border: 1px solid #8888; border-radius: 999px;
  background: none; color: inherit; cursor: pointer; }
button[aria-pressed="true"] { background: #2457d6; border-color: #2457d6; color: #fff; }
.stage { display: flex; justify-content: center; }
.device { box-sizing: border-box; background: #111; border: 1px solid #8888; border-radius: 36px;
  padding: 14px; width: 320px; height: 600px; }
@media (prefers-color-scheme: dark) { .device { background: #2b2d31; } }
.device.desktop { width: 100%; border-radius: 8px; padding: 6px; height: 480px; }
iframe { width: 100%; height: 100%; border: 0; border-radius: 24px; background: Canvas; }
.desktop iframe { border-radius: 4px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 2px 12px 2px 0; }
td:last-child { white-space: pre-wrap; overflow-wrap: anywhere;
  font-family: ui-monospace, monospace; }
h2 { font-size: 1em; margin: 16px 0 4px; }
[hidden] { display: none; }
`;

const markup = `
<div id="shown" hidden>
<div class="bar" role="group" aria-label="Device">
<button data-device="ios" aria-pressed="true">iOS</button>
<button data-device="android" aria-pressed="false">Android</button>
<button data-device="desktop" aria-pressed="false">Desktop</button>
</div>
<div class="stage"><div class="device">
<iframe id="page" title="The page" sandbox referrerpolicy="no-referrer"></iframe>
</div></div>
</div>
<div id="problems" hidden><h2>Problems</h2><table></table></div>
<div id="changes" hidden><h2>Against the live page</h2><table></table></div>
<p id="state" role="status">Waiting for the page…</p>
`;

/** Plain functions of an old browser's language: nothing translates them. */
const script = `
"use strict";
const find = (name) => document.getElementById(name);
let pages = {};
let device = "ios";

function tell(message) { parent.postMessage({ jsonrpc: "2.0", ...message }, "*"); }

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

function announceSize() {
  const { scrollWidth: width, scrollHeight: height } = document.documentElement;
  tell({ method: "ui/notifications/size-changed", params: { width, height } });
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
    tell({ method: "ui/notifications/initialized", params: {} });
    announceSize();
  }
  if (data.method === "ui/notifications/tool-result") receive(data.params ?? {});
  if (data.method === "ping" || data.method === "ui/resource-teardown") {
    tell({ id: data.id, result: {} });
  }
});

tell({
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
<title>The links' page</title>
<style>${style}</style>
</head>
<body>
${markup}
<script>${script}</script>
</body>
</html>
`;
