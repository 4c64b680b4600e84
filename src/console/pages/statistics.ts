import type { StatsBy } from "../../contract/link-stats.ts";
import { html, type Html, type Part } from "../html.ts";
import { renderAnswer, renderRows } from "../list-parts.ts";
import type { Page, Reply, PageRequest } from "../page.ts";
import { renderCard, renderTable, writeNumber, type RowColumn } from "../parts.ts";
import type { ShownStats, StatsRow } from "../records.ts";

/** Clicks, opens and installs over time, and by link, platform, source and so on. */
export const statisticsPage: Page = {
  path: /^\/statistics$/,
  entry: {
    name: "Statistics",
    address: "/statistics",
    icon: "M2.5 13.5h11M4.5 13.5v-5M8 13.5v-10M11.5 13.5v-7",
  },
  needs: "link_stats",
  show,
};

const spans = [7, 30, 90] as const;
const usualSpan = 30;
const day_ms = 24 * 60 * 60 * 1000;
/** From this many days on, a chart shows weeks. From this many weeks on, it shows months. */
const mostDays = 120;
const mostWeeks = 200;

async function show(request: PageRequest): Promise<Reply> {
  const { account } = request;
  const { days, ...span } = readSpan(request);
  const [over, ...parts] = await Promise.all([
    account.call("link_stats", { ...span, compare: true }),
    ...groups.map(({ by }) => account.tryCall("link_stats", { ...span, by })),
  ]);
  const links = spans.map((each) => {
    const here = each === days && html` aria-current="page"`;
    return html`<a class="button small" href="/statistics?days=${each}" ${here}>${each} days</a>`;
  });
  return {
    kind: "page",
    title: "Statistics",
    actions: html`<nav class="buttons" aria-label="Time">${links}</nav>`,
    body: html`${renderDates(span, account.readToday())}
      ${renderAnswer(over, ({ stats }) => renderOver(stats, "All clicks"))}
      <div class="halves">
        ${groups.map((group, at) => renderGroup(group, parts[at]?.stats.rows))}
      </div>`,
  };
}

type Span = {
  readonly from: string;
  readonly to: string;
  readonly by: StatsBy;
  readonly days?: number;
};

function readSpan({ url, account }: PageRequest): Span {
  const params = url.searchParams;
  const today = account.readToday();
  const [from = "", to = ""] = ["from", "to"].map((name) => params.get(name)?.trim());
  if (from === "" && to === "") {
    const days = spans.find((span) => params.get("days") === String(span)) ?? usualSpan;
    return { from: findFirst(today, days), to: today, by: "day", days };
  }
  // Without an end, the span ends today. Without a start, it has the usual length.
  const last = to === "" ? today : to;
  const first = from === "" ? findFirst(last, usualSpan) : from;
  return { from: first, to: last, by: chooseStep((Date.parse(last) - Date.parse(first)) / day_ms) };
}

function chooseStep(days: number): StatsBy {
  if (days >= mostWeeks * 7) return "month";
  return days >= mostDays ? "week" : "day";
}

/** Returns an invalid date unchanged, because the tool rejects it with a message. */
function findFirst(last: string, days: number): string {
  const end = Date.parse(last);
  if (Number.isNaN(end)) return last;
  return new Date(end - (days - 1) * day_ms).toISOString().slice(0, 10);
}

function renderDates({ from, to }: Span, today: string): Html {
  const field = (name: string, label: string, value: string) =>
    html`<div class="field">
      <label for="${name}">${label}</label>
      <input type="date" id="${name}" name="${name}" value="${value}" max="${today}" />
    </div>`;
  return html`<form action="/statistics" class="buttons dates" aria-label="Dates">
    ${field("from", "From", from)} ${field("to", "To", to)}
    <button>Show</button>
  </form>`;
}

export async function renderLinkStats({ account }: PageRequest, id: string): Promise<Part> {
  const to = account.readToday();
  const span = { from: findFirst(to, usualSpan), to, by: "day" };
  const found = await account.tryCall("link_stats", { ...span, id, compare: true });
  return found && renderOver(found.stats, "Clicks");
}

function renderOver({ rows, by, sentence }: ShownStats, title: string): Html {
  const columns = [nameRows(stepNames[by] ?? by), ...numbers];
  return renderCard(title, {
    inside: html`<p>${sentence}</p>
      ${renderChart(`${title}, ${by} by ${by}`, rows)}
      <details class="figures">
        <summary>As a table</summary>
        ${renderTable(title, columns, rows)}
      </details>`,
  });
}

const stepNames: Readonly<Record<string, string>> = {
  day: "Day",
  week: "Week from",
  month: "Month",
};

function nameRows(name: string): RowColumn<StatsRow> {
  return { name, isRowName: true, cell: ({ key }) => keyLabels[key] ?? key };
}

const numbers: readonly RowColumn<StatsRow>[] = [
  { name: "Clicks", look: "number", cell: ({ clicks }) => writeNumber(clicks) },
  { name: "Opens", look: "number", cell: ({ opens }) => writeNumber(opens) },
  { name: "Installs", look: "number", cell: ({ installs }) => writeNumber(installs) },
];

const groups = [
  { by: "link", title: "Links", row: "Link" },
  { by: "platform", title: "Platforms", row: "Device" },
  { by: "source", title: "Sources", row: "Source" },
  { by: "referrer", title: "Referrers", row: "Site" },
  { by: "country", title: "Countries", row: "Country" },
] as const;

const keyLabels: Readonly<Record<string, string>> = {
  address: "Path",
  short: "Short path",
  qr: "QR code",
  button: "Preview page button, after a click on the link",
  reported: "Installs reported by apps",
  direct: "No referrer",
  unknown: "Unknown",
  ios: "iOS",
  android: "Android",
  desktop: "Computers and other devices",
  other: "All others",
  "deleted links": "Deleted links",
};

function renderGroup(
  { title, row }: (typeof groups)[number],
  rows: readonly StatsRow[] | undefined,
): Part {
  const columns = [nameRows(row), ...numbers];
  return (
    rows &&
    renderCard(title, {
      look: "figures",
      below: renderRows({ things: title, columns, rows, empty: "No clicks." }),
    })
  );
}

const width = 640;
const height = 140;
const columnShare = 0.8;
const minHeight = 2;

/** Renders a column chart. For screen readers, the table below contains the same numbers. */
function renderChart(label: string, rows: readonly StatsRow[]): Part {
  const most = Math.max(0, ...rows.map(({ clicks }) => clicks));
  const step = width / rows.length;
  const columns = rows.map(({ key, clicks }, place) => {
    const tall = clicks === 0 ? 0 : Math.max(minHeight, (clicks / most) * height);
    const x = (place + (1 - columnShare) / 2) * step;
    return html`<rect
      x="${x.toFixed(2)}"
      y="${(height - tall).toFixed(2)}"
      width="${(step * columnShare).toFixed(2)}"
      height="${tall.toFixed(2)}"
    >
      <title>${key}: ${writeNumber(clicks)}</title>
    </rect>`;
  });
  // The browser stretches the chart, so its labels are outside of the SVG.
  const chart = html`<div class="charted">
    <p class="scale" aria-hidden="true">${writeNumber(most)}</p>
    <svg
      class="chart"
      viewBox="0 0 ${width} ${height}"
      preserveAspectRatio="none"
      role="img"
      aria-label="${label}"
    >
      <line class="ground" x1="0" x2="${width}" y1="${height}" y2="${height}" />
      ${columns}
    </svg>
    <p class="scale ends" aria-hidden="true">
      <span>${rows[0]?.key}</span> <span>${rows.at(-1)?.key}</span>
    </p>
  </div>`;
  return most > 0 && chart;
}
