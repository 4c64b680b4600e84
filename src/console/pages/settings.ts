import type { JsonObject } from "../../contract/json.ts";
import { writeLabel } from "../../text/write-label.ts";
import { html, type Html } from "../html.ts";
import { renderAnswer } from "../list-parts.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderTable } from "../parts.ts";
import { readRecords, readText } from "../read.ts";

/** What is set, by what, and where it can be set. */
export const settingsPage: Page = {
  path: /^\/settings$/,
  entry: {
    name: "Settings",
    address: "/settings",
    group: "Service",
    icon: "M2.5 4.5h6M11.5 4.5h2M2.5 11.5h2M7.5 11.5h6M10 2.8v3.4M6 9.8v3.4",
  },
  needs: "read_settings",
  show,
};

async function show({ account }: Visit): Promise<Reply> {
  const answer = await account.call("read_settings", {});
  const shown = renderAnswer(answer, renderSettings);
  const body = html`<div class="head"><h1>Settings</h1></div>
    ${shown}`;
  return { kind: "page", title: "Settings", body };
}

function renderSettings(result: JsonObject): Html {
  const facts = readRecords(result, "now").map(
    (fact) =>
      html`<div>
        <dt>${readText(fact, "name")}</dt>
        <dd>${readText(fact, "value")}</dd>
      </div>`,
  );
  return html`<section class="card" aria-labelledby="now">
      <h2 id="now">This server</h2>
      <div class="inside"><dl class="facts">${facts}</dl></div>
    </section>
    ${renderFindings(readRecords(result, "findings"))}
    <p class="soft">
      You change these settings where you start Waypost, with flags or environment variables. A flag
      takes precedence. Secrets have no flag and are not shown.
    </p>
    ${readRecords(result, "groups").map(renderGroup)}`;
}

/** As the doctor says it at the terminal, which looks at more. */
function renderFindings(findings: readonly JsonObject[]): Html {
  const shown = findings.map((finding) => {
    const wrong = readText(finding, "fault") || readText(finding, "warning");
    return html`<div>
      <dt>${writeLabel(readText(finding, "about"))}</dt>
      <dd>${wrong === "" ? readText(finding, "said") : html`<p class="fault">${wrong}</p>`}</dd>
    </div>`;
  });
  return html`<section class="card" aria-labelledby="findings">
    <h2 id="findings">Findings</h2>
    <div class="inside">
      ${shown.length === 0 ? "" : html`<dl class="facts">${shown}</dl>`}
      <p class="hint">
        The command <code>waypost doctor</code> also checks the key, the data folder and what
        Waypost needs to start.
      </p>
    </div>
  </section>`;
}

const columns = [
  { name: "Setting" },
  { name: "Value", look: "late" },
  { name: "From", look: "from" },
];

function renderGroup(group: JsonObject): Html {
  const name = readText(group, "name");
  const id = name.toLowerCase().replaceAll(" ", "-");
  const rows = readRecords(group, "rows").map(renderRow);
  return html`<section class="card" aria-labelledby="${id}">
    <h2 id="${id}">${name}</h2>
    ${renderTable(name, columns, rows)}
  </section>`;
}

function renderRow(row: JsonObject): Html {
  const [variable, flag] = [readText(row, "variable"), readText(row, "flag")];
  const from = readText(row, "from");
  const look = from === "default" ? "tag" : "tag busy";
  return html`<tr>
    <td>
      ${readText(row, "name")}
      <span class="set-to early">${readText(row, "value")}</span>
      <span class="soft set-by"><code>${variable}</code> <code>${flag}</code></span>
    </td>
    <td class="late set-to">${readText(row, "value")}</td>
    <td><span class="${look}">${from}</span></td>
  </tr>`;
}
