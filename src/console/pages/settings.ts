import { writeLabel } from "../../text/write-label.ts";
import type { ServerSettings, ShownSetting } from "../account.ts";
import { html, type Html, type Part } from "../html.ts";
import { renderAnswer } from "../list-parts.ts";
import type { Page, Reply, PageRequest } from "../page.ts";
import { renderCard, renderFacts, renderFault, renderTable, type RowColumn } from "../parts.ts";

/** The settings of this server, and where each can be changed. */
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

async function show({ account }: PageRequest): Promise<Reply> {
  const answer = await account.admin.readSettings();
  return { kind: "page", title: "Settings", body: renderAnswer(answer, renderSettings) };
}

function renderSettings({ now, findings, groups }: ServerSettings): Part {
  const found = findings.map(({ about, fault, warning, info }) => {
    return [writeLabel(about), renderFault(fault ?? warning) ?? info] as const;
  });
  const inside = html`${found.length > 0 && renderFacts(found)}
    <p class="hint">
      The command <code>waypost doctor</code> also checks the key, the data folder and what Waypost
      needs to start.
    </p>`;
  return html`${renderCard("This server", { inside: renderFacts(now) })}
    ${renderCard("Findings", { inside })}
    <p class="soft">
      You change these settings where you start Waypost, with flags or environment variables. A flag
      takes precedence. Secrets have no flag and are not shown.
    </p>
    ${groups.map(renderGroup)}`;
}

function renderGroup({ name, rows }: ServerSettings["groups"][number]): Html {
  return renderCard(name, { below: renderTable(name, columns, rows) });
}

const columns: readonly RowColumn<ShownSetting>[] = [
  {
    name: "Setting",
    cell: ({ name, value, variable, flag }) =>
      html`${name}
        <span class="set-to early">${value}</span>
        <span class="soft set-by"><code>${variable}</code> <code>${flag}</code></span>`,
  },
  { name: "Value", look: "late set-to", cell: ({ value }) => value },
  {
    name: "From",
    look: "from",
    cell: ({ from }) =>
      html`<span class="${from === "default" ? "tag" : "tag busy"}">${from}</span>`,
  },
];
