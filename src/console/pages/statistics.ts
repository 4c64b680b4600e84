import type { JsonObject } from "../../contract/json.ts";
import type { StatsBy } from "../../contract/link-stats.ts";
import { html, type Html } from "../html.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderFault, renderTable } from "../parts.ts";
import { readNumber, readRecord, readRecords, readText } from "../read.ts";

/** How often all links were visited: when, by what and from where. */
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
/** Of more days a chart has a column for each week, and of more weeks than these for each month. */
const mostDays = 120;
const mostWeeks = 200;

async function show(visit: Visit): Promise<Reply> {
  const chosen = readChosen(visit);
  const told = ["link", "platform", "source", "referrer", "country"] as const;
  const [over, ...parts] = await Promise.all([
    readStats(visit, { ...chosen, compare: true }),
    ...told.map((by) => readStats(visit, { ...chosen, by })),
  ]);
  const body = html`<div class="head">
      <h1>Statistics</h1>
      <nav class="buttons" aria-label="Time">
        ${spans.map((span) => {
          const isHere = span === chosen.days ? html` aria-current="page"` : "";
          return html`<a class="button small" href="/statistics?days=${span}" ${isHere}
            >${span} days</a
          >`;
        })}
      </nav>
    </div>
    ${renderDates(chosen, visit.account.readToday())}
    ${over.kind === "fault" ? renderFault(over.text) : renderOver(over.stats, "All clicks")}
    <div class="halves">
      ${parts.map((part, place) =>
        part.kind === "fault" ? "" : renderPart(part.stats, told[place] ?? "link"),
      )}
    </div>`;
  return { kind: "page", title: "Statistics", body };
}

/** Two dates, or the days up to today. */
type Chosen = {
  readonly from: string;
  readonly to: string;
  readonly by: StatsBy;
  /** Where they are the days of a link above. */
  readonly days?: number;
};

function readChosen({ url, account }: Visit): Chosen {
  const asked = url.searchParams;
  const today = account.readToday();
  const [from = "", to = ""] = ["from", "to"].map((name) => asked.get(name)?.trim());
  if (from === "" && to === "") {
    const days = spans.find((span) => asked.get("days") === String(span)) ?? usualSpan;
    return { from: findFirst(today, days), to: today, by: "day", days };
  }
  // What is left out is what the links above would have.
  const last = to === "" ? today : to;
  const first = from === "" ? findFirst(last, usualSpan) : from;
  return { from: first, to: last, by: chooseStep((Date.parse(last) - Date.parse(first)) / day_ms) };
}

function chooseStep(days: number): StatsBy {
  if (days >= mostWeeks * 7) return "month";
  return days >= mostDays ? "week" : "day";
}

/** What is no date is told of by whoever it is asked of. */
function findFirst(last: string, days: number): string {
  const end = Date.parse(last);
  if (Number.isNaN(end)) return last;
  return new Date(end - (days - 1) * day_ms).toISOString().slice(0, 10);
}

function renderDates({ from, to }: Chosen, today: string): Html {
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

/** The same of one link, for its own page. */
export async function renderLinkStats(visit: Visit, id: string): Promise<Html | string> {
  if (!visit.account.mayUse("link_stats")) return "";
  const to = visit.account.readToday();
  const from = findFirst(to, usualSpan);
  const read = await readStats(visit, { from, to, by: "day", id, compare: true });
  return read.kind === "fault" ? "" : renderOver(read.stats, "Clicks");
}

type Wanted = Pick<Chosen, "from" | "to" | "by"> & {
  readonly id?: string;
  /** The sentence alone tells of the time before. */
  readonly compare?: true;
};

type Read =
  | { readonly kind: "read"; readonly stats: JsonObject }
  | { readonly kind: "fault"; readonly text: string };

async function readStats({ account }: Visit, wanted: Wanted): Promise<Read> {
  const { from, to, by, id, compare } = wanted;
  const answer = await account.call("link_stats", {
    from,
    to,
    by,
    ...(id !== undefined && { id }),
    ...(compare && { compare }),
  });
  if (answer.kind === "done") return { kind: "read", stats: readRecord(answer.result, "stats") };
  return { kind: "fault", text: answer.kind === "failed" ? answer.failure.message : "" };
}

/** A chart, and below it the same as a table for whoever wants to read it. */
function renderOver(stats: JsonObject, title: string): Html {
  const rows = readRecords(stats, "rows");
  const step = readText(stats, "by");
  const columns = rows.map((row) => {
    return { key: readText(row, "key"), value: readNumber(row, "clicks") };
  });
  return html`<section class="card" aria-labelledby="over-time">
    <h2 id="over-time">${title}</h2>
    <div class="inside stack">
      <p>${readText(stats, "sentence")}</p>
      ${renderChart(`${title}, ${step} by ${step}`, columns)}
      <details class="figures">
        <summary>As a table</summary>
        ${renderTable(
          title,
          [{ name: stepNames[step] ?? step }, ...numbers],
          rows.map((row) => renderRow(row)),
        )}
      </details>
    </div>
  </section>`;
}

const stepNames: Readonly<Record<string, string>> = {
  day: "Day",
  week: "Week from",
  month: "Month",
};

const numbers = [
  { name: "Clicks", look: "number" },
  { name: "Opens", look: "number" },
  { name: "Installs", look: "number" },
];

/** What a part is called, and what one row of it is. */
const titles: Readonly<Record<string, readonly [part: string, row: string]>> = {
  link: ["Links", "Link"],
  platform: ["Platforms", "Device"],
  source: ["Sources", "Source"],
  referrer: ["Referrers", "Site"],
  country: ["Countries", "Country"],
};

/** What a person reads in place of the keys that are ours. */
const words: Readonly<Record<string, string>> = {
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

function renderPart(stats: JsonObject, by: string): Html {
  const rows = readRecords(stats, "rows");
  const [title, row] = titles[by] ?? [by, by];
  const table = renderTable(
    title,
    [{ name: row }, ...numbers],
    rows.map((row) => renderRow(row)),
  );
  return html`<section class="card figures" aria-label="${title}">
    <h2>${title}</h2>
    ${rows.length === 0 ? html`<div class="empty"><p>No clicks.</p></div>` : table}
  </section>`;
}

function renderRow(row: JsonObject): Html {
  const key = readText(row, "key");
  return html`<tr>
    <th scope="row" dir="auto">${words[key] ?? key}</th>
    ${["clicks", "opens", "installs"].map(
      (name) => html`<td class="number">${readNumber(row, name).toLocaleString("en")}</td>`,
    )}
  </tr>`;
}

type Column = { readonly key: string; readonly value: number };

const width = 640;
const height = 140;
/** How much of its slot a column fills, so that neighbors stay apart. */
const filled = 0.8;
/** The smallest height that is still visible. */
const least = 2;

/** A column chart. Screen readers use the table below it, which has the same numbers. */
function renderChart(label: string, columns: readonly Column[]): Html | string {
  const most = Math.max(0, ...columns.map(({ value }) => value));
  if (most === 0) return "";
  const [first, last] = [columns[0], columns.at(-1)];
  // The drawing is stretched, so texts are outside of it.
  return html`<div class="charted">
    <p class="scale" aria-hidden="true">${most.toLocaleString("en")}</p>
    ${drawColumns(label, columns, most)}
    <p class="scale ends" aria-hidden="true">
      <span>${first?.key}</span> <span>${last?.key}</span>
    </p>
  </div>`;
}

function drawColumns(label: string, columns: readonly Column[], most: number): Html {
  const step = width / columns.length;
  return html`<svg
    class="chart"
    viewBox="0 0 ${width} ${height}"
    preserveAspectRatio="none"
    role="img"
    aria-label="${label}"
  >
    <line class="ground" x1="0" x2="${width}" y1="${height}" y2="${height}" />
    ${columns.map(({ key, value }, place) => {
      const tall = value === 0 ? 0 : Math.max(least, (value / most) * height);
      const x = (place + (1 - filled) / 2) * step;
      return html`<rect
        x="${x.toFixed(2)}"
        y="${(height - tall).toFixed(2)}"
        width="${(step * filled).toFixed(2)}"
        height="${tall.toFixed(2)}"
      >
        <title>${key}: ${value.toLocaleString("en")}</title>
      </rect>`;
    })}
  </svg>`;
}
