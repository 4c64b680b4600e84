import { renderQuestion } from "../act.ts";
import { html, type Html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { readParam, readPlanPart } from "../read.ts";

/** What an assistant waits for, answered by whoever is signed in with its key. */
export const waitingPage: Page = {
  path: /^\/waiting\/(?<id>[^/]+)$/,
  show: (visit) => show(visit),
  submit: answer,
};

const over: Reply = {
  kind: "page",
  status: 404,
  title: "Approval expired",
  body: html`<h1>This approval has expired</h1>
    <p class="soft">
      It expired after five minutes, or it belongs to another key. If you still want this, ask your
      assistant again.
    </p>
    <p><a class="button" href="/">Go to Start</a></p>`,
};

async function show(visit: Visit, fault?: string): Promise<Reply> {
  const { account, params, url } = visit;
  const asked = await account.readAsked(readParam(params, "id"), readPlanPart(url));
  if (asked === undefined) return over;
  const { question, lead, origin, term } = asked;
  const body = html`<div class="head">
      <div>
        <p class="crumbs"><a href="/">Start</a></p>
        <h1 dir="auto">${question.title}</h1>
      </div>
    </div>
    <p class="soft">${lead}. ${origin}.</p>
    ${
      asked.end === undefined
        ? renderQuestion({ question, visit, hidden: [], fault, no: "decide", term })
        : renderEnd(asked.end)
    }`;
  const title = asked.end === undefined ? question.button : ends[asked.end].title;
  const hasFrames = asked.end === undefined && question.frames !== "";
  return { kind: "page", title, body, hasFrames, status: fault === undefined ? 200 : 403 };
}

const ends: Readonly<
  Record<"approved" | "declined", { readonly title: string; readonly text: string }>
> = {
  approved: {
    title: "Approved",
    text:
      "You approved this, here or on the approval page. The assistant may do this once. If it " +
      "does not continue by itself, ask it to.",
  },
  declined: {
    title: "Declined",
    text: "You declined this, here or on the approval page. The assistant will not do it.",
  },
};

function renderEnd(end: keyof typeof ends): Html {
  const { title, text } = ends[end];
  return html`<section class="card question" aria-labelledby="end">
    <h2 id="end">${title}</h2>
    <div class="inside">
      <p role="status">${text}</p>
      <p><a class="button" href="/">Go to Start</a></p>
    </div>
  </section>`;
}

async function answer(visit: Visit, form: Form): Promise<Reply> {
  const { account, params } = visit;
  const id = readParam(params, "id");
  const decision = form.read("decision");
  if (decision !== "approved" && decision !== "declined") return show(visit);
  const typed = { pin: form.read("pin"), count: form.read("count") };
  const fault = await account.decide(id, decision, typed);
  if (fault !== undefined) return show(visit, fault);
  return { kind: "go", to: `/waiting/${encodeURIComponent(id)}` };
}
