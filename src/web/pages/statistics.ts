import type { JsonObject } from "../../contract/json.ts";
import type { StatsBy } from "../../contract/link-stats.ts";
import { html, type Html } from "../html.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderFault, renderTable } from "../parts.ts";
import { readNumber, readRecord, readRecords, readText } from "../read.ts";
import { renderChart } from "./chart.ts";

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
const day_ms = 24 * 60 * 60 * 1000;

async function show(visit: Visit): Promise<Reply> {
  const days = spans.find((span) => visit.url.searchParams.get("days") === String(span)) ?? 30;
  const told = ["link", "platform", "source", "referrer", "country"] as const;
  const [over, ...parts] = await Promise.all([
    readStats(visit, { days }),
    ...told.map((by) => readStats(visit, { days, by })),
  ]);
  const body = html`<div class="head">
      <h1>Statistics</h1>
      <nav class="buttons" aria-label="Time">
        ${spans.map((span) => {
          const isHere = span === days ? html` aria-current="page"` : "";
          return html`<a class="button small" href="/statistics?days=${span}" ${isHere}
            >${span} days</a
          >`;
        })}
      </nav>
    </div>
    ${over.kind === "fault" ? renderFault(over.text) : renderOver(over.stats, "All clicks")}
    <div class="halves">
      ${parts.map((part, place) =>
        part.kind === "fault" ? "" : renderPart(part.stats, told[place] ?? "link"),
      )}
    </div>`;
  return { kind: "page", title: "Statistics", body };
}

/** The same of one link, for its own page. */
export async function renderLinkStats(visit: Visit, id: string): Promise<Html | string> {
  if (!visit.account.mayUse("link_stats")) return "";
  const read = await readStats(visit, { days: 30, id });
  return read.kind === "fault" ? "" : renderOver(read.stats, "Clicks");
}

type Wanted = {
  readonly days: number;
  readonly by?: StatsBy;
  readonly id?: string;
};

type Read =
  | { readonly kind: "read"; readonly stats: JsonObject }
  | { readonly kind: "fault"; readonly text: string };

async function readStats({ account }: Visit, { days, ...wanted }: Wanted): Promise<Read> {
  const first = Date.parse(account.readToday()) - (days - 1) * day_ms;
  const from = new Date(first).toISOString().slice(0, 10);
  const answer = await account.call("link_stats", { from, by: "day", compare: true, ...wanted });
  if (answer.kind === "done") return { kind: "read", stats: readRecord(answer.result, "stats") };
  return { kind: "fault", text: answer.kind === "failed" ? answer.failure.message : "" };
}

/** A chart, and below it the same as a table for whoever wants to read it. */
function renderOver(stats: JsonObject, title: string): Html {
  const rows = readRecords(stats, "rows");
  const columns = rows.map((row) => {
    return { key: readText(row, "key"), value: readNumber(row, "clicks") };
  });
  return html`<section class="card" aria-labelledby="over-time">
    <h2 id="over-time">${title}</h2>
    <div class="inside stack">
      <p>${readText(stats, "sentence")}</p>
      ${renderChart(`${title}, day by day`, columns)}
      <details class="counts">
        <summary>As a table</summary>
        ${renderTable(
          title,
          [{ name: "Day" }, ...numbers],
          rows.map((row) => renderRow(row)),
        )}
      </details>
    </div>
  </section>`;
}

const numbers = [
  { name: "Clicks", look: "number" },
  { name: "Opens", look: "number" },
  { name: "Installs", look: "number" },
];

const titles: Readonly<Record<string, string>> = {
  link: "Links",
  platform: "Platforms",
  source: "Ways",
  referrer: "Pages that led here",
  country: "Countries",
};

/** What a person reads in place of the keys that are ours. */
const words: Readonly<Record<string, string>> = {
  address: "The link's address",
  short: "A short address",
  qr: "QR code",
  button: "The page's button, after a click",
  direct: "No page, or none that says so",
  unknown: "Not known",
  ios: "iOS",
  android: "Android",
  desktop: "Computers and others",
  other: "All others",
};

function renderPart(stats: JsonObject, by: string): Html {
  const rows = readRecords(stats, "rows");
  const title = titles[by] ?? by;
  const table = renderTable(
    title,
    [{ name: title }, ...numbers],
    rows.map((row) => renderRow(row, by)),
  );
  return html`<section class="card counts" aria-label="${title}">
    <h2>${title}</h2>
    ${rows.length === 0 ? html`<div class="empty"><p>Nobody came.</p></div>` : table}
  </section>`;
}

function renderRow(row: JsonObject, by = ""): Html {
  const key = readText(row, "key");
  const told = by === "link" ? key : (words[key] ?? key);
  return html`<tr>
    <th scope="row" dir="auto">${told}</th>
    ${["clicks", "opens", "installs"].map(
      (name) => html`<td class="number">${readNumber(row, name).toLocaleString("en")}</td>`,
    )}
  </tr>`;
}
