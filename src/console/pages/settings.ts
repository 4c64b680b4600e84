import { writeLabel } from "../../text/write-label.ts";
import type { ServerFinding, ServerSettings, ShownSetting } from "../account.ts";
import { html, type Html } from "../html.ts";
import { renderAnswer } from "../list-parts.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderFacts, renderTable } from "../parts.ts";

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
  const answer = await account.admin.readSettings();
  const body = html`<div class="head"><h1>Settings</h1></div>
    ${renderAnswer(answer, renderSettings)}`;
  return { kind: "page", title: "Settings", body };
}

function renderSettings({ now, findings, groups }: ServerSettings): Html {
  return html`<section class="card" aria-labelledby="now">
      <h2 id="now">This server</h2>
      <div class="inside">${renderFacts(now)}</div>
    </section>
    ${renderFindings(findings)}
    <p class="soft">
      You change these settings where you start Waypost, with flags or environment variables. A flag
      takes precedence. Secrets have no flag and are not shown.
    </p>
    ${groups.map(renderGroup)}`;
}

/** The same as in `waypost doctor`, which checks more. */
function renderFindings(findings: readonly ServerFinding[]): Html {
  const shown = findings.map(({ about, fault, warning, said }) => {
    const wrong = fault ?? warning;
    const text = wrong === undefined ? said : html`<p class="fault">${wrong}</p>`;
    return [writeLabel(about), text] as const;
  });
  return html`<section class="card" aria-labelledby="findings">
    <h2 id="findings">Findings</h2>
    <div class="inside">
      ${shown.length === 0 ? "" : renderFacts(shown)}
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

function renderGroup({ name, rows }: ServerSettings["groups"][number]): Html {
  const id = name.toLowerCase().replaceAll(" ", "-");
  return html`<section class="card" aria-labelledby="${id}">
    <h2 id="${id}">${name}</h2>
    ${renderTable(name, columns, rows.map(renderRow))}
  </section>`;
}

function renderRow({ name, value, from, variable, flag }: ShownSetting): Html {
  return html`<tr>
    <td>
      ${name}
      <span class="set-to early">${value}</span>
      <span class="soft set-by"><code>${variable}</code> <code>${flag ?? ""}</code></span>
    </td>
    <td class="late set-to">${value}</td>
    <td><span class="${from === "default" ? "tag" : "tag busy"}">${from}</span></td>
  </tr>`;
}
