import { writeLabel } from "../../text/write-label.ts";
import type { PlanFault, Question, ShownPlan } from "../account.ts";
import { act, printQuestion, renderQuestion } from "../act.ts";
import { html, type Html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { renderPaging } from "../list-parts.ts";
import { renderFault, renderTable, shorten, showMissing } from "../parts.ts";
import { readPage, readParam, readPlanPart, readRecord, readText } from "../read.ts";
import { linkList } from "./link-place.ts";

/** What many links would become: read as a whole, and then applied by hand. */
export const planPage: Page = {
  path: /^\/plans\/(?<id>[^/]+)$/,
  needs: "plan_links",
  show: (visit) => show(visit),
  submit: apply,
};

const gone = showMissing(
  { thing: "plan", why: "The plan belongs to another key, or has expired. It changed nothing." },
  linkList,
);

async function show(visit: Visit, fault?: string): Promise<Reply> {
  const { account, params, url } = visit;
  const plan = await account.readPlan(readParam(params, "id"), readPlanPart(url));
  if (plan === undefined) return gone;
  const { question } = plan;
  const title = question?.title ?? describeEnd(plan);
  const back = plan.undoes === undefined ? "/links" : writeJobAddress(plan.undoes);
  const body = html`<div class="head">
      <div>
        <p class="crumbs"><a href="${back}">${plan.undoes === undefined ? "Links" : "Job"}</a></p>
        <h1 dir="auto">${title}</h1>
      </div>
    </div>
    <div class="stack narrow">
      ${renderFault(fault)} ${renderEnd(plan)} ${renderSource(plan)} ${renderFaults(plan, url)}
      ${renderConflicts(plan, url)}
      ${question === undefined ? "" : renderOpen(question, visit, back)}
    </div>`;
  return { kind: "page", title, body, status: fault === undefined ? 200 : 422 };
}

function writeJobAddress(id: string): string {
  return `/jobs/${encodeURIComponent(id)}`;
}

/** Nothing of it was changed before the button is pressed. */
function renderOpen(question: Question, visit: Visit, back: string): Html {
  const no = { to: back };
  if (visit.account.mayUse("apply_plan")) {
    const hidden = [["shown", printQuestion(question)]] as const;
    return renderQuestion({ question, visit, hidden, no });
  }
  return renderQuestion({ question: { ...question, blocked: mayNot }, visit, hidden: [], no });
}

const mayNot = "Your key may create this plan, but not apply it.";

function describeEnd({ isFaulty, isOver, jobId }: ShownPlan): string {
  if (jobId !== undefined) return "This plan was applied";
  if (isFaulty) return "This plan cannot be applied";
  return isOver ? "This plan has expired" : "Nothing to change";
}

function renderEnd({ question, isFaulty, isOver, jobId, counts }: ShownPlan): Html | string {
  if (jobId !== undefined && question === undefined) {
    return html`<p class="note">
      The job shows the result for each link.
      <a href="${writeJobAddress(jobId)}">View job</a>
    </p>`;
  }
  if (question !== undefined) return "";
  if (isFaulty) {
    return html`<p class="note">
      Nothing was changed. Fix the rows below and try again, or leave out the invalid rows.
    </p>`;
  }
  if (isOver) {
    return html`<p class="note">
      Plans expire after an hour, because links may have changed since. Make the plan again.
    </p>`;
  }
  const unchanged = counts["unchanged"] ?? 0;
  return html`<p class="note">
    ${
      unchanged === 0
        ? "The plan contains no links."
        : `${unchanged.toLocaleString("en")} links already have these values.`
    }
  </p>`;
}

/** Whose file it was, and what of it has no place here. */
function renderSource({ format, unmapped, warnings }: ShownPlan): Html | string {
  if (format === undefined && unmapped.length === 0) return "";
  const rows = unmapped.map(
    ({ field, count, example }) =>
      html`<tr>
        <td><span class="line" dir="auto">${field}</span></td>
        <td class="number count">${count.toLocaleString("en")}</td>
        <td><span class="line soft" dir="auto">${example}</span></td>
      </tr>`,
  );
  const columns = [
    { name: "Column" },
    { name: "Values", look: "number count" },
    { name: "Example" },
  ];
  return html`<section class="card" aria-labelledby="source">
    <h2 id="source">${format === undefined ? "Not imported" : `Export from ${format}`}</h2>
    ${warnings.map((text) => html`<div class="inside"><p class="warning">${text}</p></div>`)}
    ${
      unmapped.length === 0
        ? html`<div class="inside"><p>All columns are imported.</p></div>`
        : html`<div class="inside">
              <p class="soft">Links in Waypost have no field for these columns.</p>
            </div>
            ${renderTable("Columns that are not imported", columns, rows)}`
    }
  </section>`;
}

const perPage = 25;

function renderFaults({ problems, moreFaults, isFaulty }: ShownPlan, url: URL): Html | string {
  if (problems.length === 0) return "";
  const text = isFaulty ? "Rows to fix" : "Invalid rows, which are left out";
  const page = readPage(url, "faults");
  const shown = problems.slice((page - 1) * perPage, page * perPage);
  const table = { title: text, faults: shown, count: problems.length, more: moreFaults };
  return renderFaultTable("faults", table, url);
}

function renderConflicts({ conflicts, counts }: ShownPlan, url: URL): Html | string {
  const count = counts["conflict"] ?? 0;
  if (count === 0) return "";
  const title = "Left out, because of conflicts";
  return renderFaultTable("conflicts", { title, faults: conflicts, count, more: 0 }, url);
}

type FaultTable = {
  readonly title: string;
  /** Those of this page. */
  readonly faults: readonly PlanFault[];
  readonly count: number;
  /** How many there are that are on no page. */
  readonly more: number;
};

function renderFaultTable(
  id: "faults" | "conflicts",
  { title, faults, count, more }: FaultTable,
  url: URL,
): Html {
  const rows = faults.map(
    ({ row, link, field = "", message }) =>
      html`<tr>
        <td>
          <span class="line" dir="auto"
            >${row ?? (link === undefined ? "All" : `/${shorten(link, mostOfText)}`)}</span
          >
        </td>
        <td>
          ${field === "" ? "" : html`<strong>${writeLabel(field)}</strong>`}
          <p dir="auto">${shorten(message, mostOfMessage)}</p>
        </td>
      </tr>`,
  );
  const columns = [{ name: "Row", look: "place" }, { name: "Problem" }];
  const meta = { page: readPage(url, id), last: Math.ceil(count / perPage) };
  return html`<section class="card" aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    <div class="inside">
      <p class="soft">For a CSV file, row numbers are line numbers in the file.</p>
    </div>
    ${renderTable(title, columns, rows)}
    ${more > 0 ? html`<p class="foot">And ${more.toLocaleString("en")} more.</p>` : ""}
    ${renderPaging(meta, title, `?${id}=`)}
  </section>`;
}

const mostOfText = 200;
const mostOfMessage = 600;

async function apply(visit: Visit, form: Form): Promise<Reply> {
  const plan_id = readParam(visit.params, "id");
  if (!visit.account.mayUse("apply_plan")) return show(visit);
  const back = `/plans/${encodeURIComponent(plan_id)}`;
  const ended = await act(visit, form, {
    run: () => visit.account.call("apply_plan", { plan_id }),
    back,
  });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "failed") return show(visit, ended.failure.message);
  return { kind: "go", to: writeJobAddress(readText(readRecord(ended.result, "job"), "id")) };
}
