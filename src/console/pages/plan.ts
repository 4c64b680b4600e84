import { writeLabel } from "../../text/write-label.ts";
import type { PlanFault, ConsoleQuestion, ShownPlan } from "../account.ts";
import { act, printQuestion, renderQuestion } from "../act.ts";
import { html, type Html, type Part } from "../html.ts";
import { renderPaging } from "../list-parts.ts";
import type { Form, Page, Reply, PageRequest } from "../page.ts";
import { renderCard, renderTable, shorten, showMissing, writeNumber } from "../parts.ts";
import { readPage, readParam, readPlanPart } from "../read-address.ts";
import { writeJobAddress } from "./jobs.ts";
import { linkList } from "./link-query.ts";

/** Shows what a plan would change, and applies it. */
export const planPage: Page = {
  path: /^\/plans\/(?<id>[^/]+)$/,
  needs: "plan_links",
  show: (request) => show(request),
  submit: apply,
};

const gone = "The plan belongs to another key, or has expired. It changed nothing.";

async function show(request: PageRequest, fault?: string): Promise<Reply> {
  const { account, params, url } = request;
  const plan = await account.readPlan(readParam(params, "id"), readPlanPart(url));
  if (plan === undefined) return showMissing("plan", gone, linkList);
  const { question, undoes } = plan;
  const above = undoes === undefined ? linkList : { name: "Job", address: writeJobAddress(undoes) };
  return {
    kind: "page",
    title: question?.title ?? describeEnd(plan),
    above,
    fault,
    body: html`<div class="stack narrow">
      ${question === undefined && renderEnd(plan)} ${renderSource(plan)} ${renderFaults(plan, url)}
      ${renderConflicts(plan, url)} ${question && renderOpen(question, request, above.address)}
    </div>`,
  };
}

function renderOpen(question: ConsoleQuestion, request: PageRequest, back: string): Html {
  const no = { to: back };
  if (request.account.mayUse("apply_plan")) {
    const hidden = [["shown", printQuestion(question)]] as const;
    return renderQuestion({ question, request, hidden, no });
  }
  return renderQuestion({ question: { ...question, blocked: mayNot }, request, hidden: [], no });
}

const mayNot = "Your key may create this plan, but not apply it.";

function describeEnd({ isFaulty, isOver, jobId }: ShownPlan): string {
  if (jobId !== undefined) return "This plan was applied";
  if (isFaulty) return "This plan cannot be applied";
  return isOver ? "This plan has expired" : "Nothing to change";
}

function renderEnd({ isFaulty, isOver, jobId, counts: { unchanged = 0 } }: ShownPlan): Html {
  if (jobId !== undefined) {
    const job = html`<a href="${writeJobAddress(jobId)}">View job</a>`;
    return note(html`The job shows the result for each link. ${job}`);
  }
  if (isFaulty) {
    return note(
      "Nothing was changed. Fix the rows below and try again, or leave out the invalid rows.",
    );
  }
  if (isOver) {
    return note(
      "Plans expire after an hour, because links may have changed since. Make the plan again.",
    );
  }
  if (unchanged === 0) return note("The plan contains no links.");
  return note(`${writeNumber(unchanged)} links already have these values.`);
}

function note(text: Part): Html {
  return html`<p class="note">${text}</p>`;
}

function renderSource({ format, unmapped, warnings }: ShownPlan): Part {
  if (format === undefined && unmapped.length === 0) return "";
  const columns = [
    {
      name: "Column",
      cell: ({ field }: UnmappedFields) => html`<span class="line" dir="auto">${field}</span>`,
    },
    {
      name: "Values",
      look: "number count",
      cell: ({ count }: UnmappedFields) => writeNumber(count),
    },
    {
      name: "Example",
      cell: ({ example }: UnmappedFields) =>
        html`<span class="line soft" dir="auto">${example}</span>`,
    },
  ];
  const isWhole = unmapped.length === 0;
  return renderCard(format === undefined ? "Not imported" : `Export from ${format}`, {
    inside: [
      warnings.map((text) => html`<p class="warning">${text}</p>`),
      isWhole
        ? html`<p>All columns are imported.</p>`
        : html`<p class="soft">Links in Waypost have no field for these columns.</p>`,
    ],
    below: !isWhole && renderTable("Columns that are not imported", columns, unmapped),
  });
}

type UnmappedFields = ShownPlan["unmapped"][number];

const perPage = 25;

function renderFaults({ problems, moreFaults, isFaulty }: ShownPlan, url: URL): Part {
  if (problems.length === 0) return "";
  const title = isFaulty ? "Rows to fix" : "Invalid rows, which are left out";
  const page = readPage(url, "faults");
  const shown = problems.slice((page - 1) * perPage, page * perPage);
  const more = moreFaults > 0 && html`<p class="foot">And ${writeNumber(moreFaults)} more.</p>`;
  const paging = renderPages("faults", title, problems.length, url);
  return renderFaultTable(title, shown, [more, paging]);
}

function renderConflicts({ conflicts, counts }: ShownPlan, url: URL): Part {
  const count = counts["conflict"] ?? 0;
  if (count === 0) return "";
  const title = "Left out, because of conflicts";
  return renderFaultTable(title, conflicts, renderPages("conflicts", title, count, url));
}

function renderPages(name: "faults" | "conflicts", title: string, count: number, url: URL): Part {
  const meta = { page: readPage(url, name), last: Math.ceil(count / perPage) };
  return renderPaging(meta, title, `?${name}=`);
}

function renderFaultTable(title: string, faults: readonly PlanFault[], below: Part): Html {
  return renderCard(title, {
    inside: html`<p class="soft">For a CSV file, row numbers are line numbers in the file.</p>`,
    below: [renderTable(title, faultColumns, faults), below],
  });
}

const faultColumns = [
  {
    name: "Row",
    look: "place",
    cell: ({ row, link }: PlanFault) => {
      const name = link === undefined ? "All" : `/${shorten(link, mostOfText)}`;
      return html`<span class="line" dir="auto">${row ?? name}</span>`;
    },
  },
  {
    name: "Problem",
    cell: ({ field, message }: PlanFault) =>
      html`${field && html`<strong>${writeLabel(field)}</strong>`}
        <p dir="auto">${shorten(message, mostOfMessage)}</p>`,
  },
];

const mostOfText = 200;
const mostOfMessage = 600;

async function apply(request: PageRequest, form: Form): Promise<Reply> {
  const { account, params } = request;
  const plan_id = readParam(params, "id");
  if (!account.mayUse("apply_plan")) return show(request);
  return act(request, form, {
    run: () => account.act("apply_plan", { plan_id }),
    back: `/plans/${encodeURIComponent(plan_id)}`,
    done: ({ job }) => ({ kind: "go", to: writeJobAddress(job?.id ?? "") }),
    failed: ({ message }) => show(request, message),
  });
}
