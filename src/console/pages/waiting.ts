import type { ConsoleDecision } from "../account.ts";
import { renderQuestion } from "../act.ts";
import { html, type Html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { renderCard } from "../parts.ts";
import { readParam, readPlanPart } from "../read-address.ts";

/** A question of an assistant, for a person who is signed in with its key. */
export const waitingPage: Page = {
  path: /^\/waiting\/(?<id>[^/]+)$/,
  show: (visit) => show(visit),
  submit: answer,
};

const start = html`<p><a class="button" href="/">Go to Start</a></p>`;

const expired: Reply = {
  kind: "page",
  status: 404,
  title: "Approval expired",
  heading: "This approval has expired",
  body: html`<p class="soft">
      It expired after five minutes, or it belongs to another key. If you still want this, ask your
      assistant again.
    </p>
    ${start}`,
};

async function show(visit: Visit, fault?: string): Promise<Reply> {
  const { account, params, url } = visit;
  const asked = await account.readAsked(readParam(params, "id"), readPlanPart(url));
  if (asked === undefined) return expired;
  const { question, lead, origin, term, end } = asked;
  const open = { question, visit, hidden: [], fault, no: "decide", term } as const;
  return {
    kind: "page",
    title: end === undefined ? question.button : ends[end].title,
    heading: question.title,
    above: { name: "Start", address: "/" },
    body: html`<p class="soft">${lead}. ${origin}.</p>
      ${end === undefined ? renderQuestion(open) : renderEnd(end)}`,
    hasFrames: end === undefined && question.frames !== "",
    status: fault === undefined ? 200 : 403,
  };
}

const ends: Readonly<Record<ConsoleDecision, { readonly title: string; readonly text: string }>> = {
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

function renderEnd(end: ConsoleDecision): Html {
  const { title, text } = ends[end];
  const inside = html`<p role="status">${text}</p>
    ${start}`;
  return renderCard(title, { inside, look: "question" });
}

async function answer(visit: Visit, form: Form): Promise<Reply> {
  const { account, params } = visit;
  const id = readParam(params, "id");
  const decision = form.read("decision");
  if (decision !== "approved" && decision !== "declined") return show(visit);
  const typed = { pin: form.read("pin"), count: form.read("count") };
  const no = await account.decide(id, decision, typed);
  if (no?.kind === "fault") return show(visit, no.text);
  return { kind: "go", to: `/waiting/${encodeURIComponent(id)}` };
}
