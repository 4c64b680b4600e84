import { createHash } from "node:crypto";
import type { Answer, AskedPin, Failure, NoYes, Question } from "./account.ts";
import { renderGuard } from "./form-fields.ts";
import { html, trust, type Html } from "./html.ts";
import type { Form, Page, Reply, Visit } from "./page.ts";
import { renderCount, renderFault, renderHidden, renderPin } from "./parts.ts";
import { writeFrom } from "./read.ts";

/**
 * An act that a form asks for. Where it needs a yes, the person is shown what will happen, and the
 * same form comes again with it: the yes counts for this very act on what was shown. Where that has
 * changed meanwhile, it is shown as it is then.
 */

type Act<Result> = {
  readonly run: () => Promise<Answer<Result>>;
  /** Where a person goes who cancels. Omitted, their form is shown again as they sent it. */
  readonly back?: string;
};

export type Ended<Result> =
  | { readonly kind: "done"; readonly result: Result }
  | { readonly kind: "failed"; readonly failure: Failure }
  /** The page that asks. */
  | { readonly kind: "reply"; readonly reply: Reply };

export async function act<Result>(
  visit: Visit,
  form: Form,
  { run, back }: Act<Result>,
): Promise<Ended<Result>> {
  const { account } = visit;
  const typed = { pin: form.read("pin"), count: form.read("count") };
  const [asked, shown] = [form.read("question"), form.read("shown")];
  let fault = asked === "" ? undefined : await account.approve(asked, typed);
  let answer = await run();
  // The page showed exactly this question, so sending its form approved it.
  const isShown = answer.kind === "asks" && printQuestion(answer.question) === shown;
  if (asked === "" && answer.kind === "asks" && isShown) {
    fault = await account.approve(answer.question.id, typed);
    answer = await run();
  }
  if (answer.kind !== "asks") return answer;
  const { question } = answer;
  // A question that was answered, and is there again, is about something else by now.
  const isAnother = asked === "" ? shown !== "" && !isShown : question.id !== asked;
  const told = isAnother && fault?.kind !== "over" ? changed : describeFault(fault);
  const no = back === undefined ? leave : { to: back };
  const kept = form.entries.filter(([name]) => !own.has(name));
  const hidden = [["question", question.id] as const, ...kept];
  const body = html`<div class="head"><h1 dir="auto">${question.title}</h1></div>
    ${renderQuestion({ question, visit, hidden, no, fault: told })}`;
  const hasFrames = question.frames !== "";
  return { kind: "reply", reply: { kind: "page", title: question.button, body, hasFrames } };
}

type ActPage<Result> = Pick<Page, "path" | "needs"> & {
  /** Where a person goes who cancels, or who opens the address without pressing a button. */
  readonly back: (visit: Visit) => string;
  readonly run: (visit: Visit, form: Form) => Promise<Answer<Result>>;
  readonly done: (result: Result, visit: Visit) => Reply;
  readonly failed: (failure: Failure, visit: Visit) => Reply | Promise<Reply>;
};

/** The address of a button: it has no page of its own, only the question and the end. */
export function createActPage<Result>(page: ActPage<Result>): Page {
  const { back, run, done, failed, ...place } = page;
  return {
    ...place,
    show: (visit) => Promise.resolve({ kind: "go", to: back(visit) }),
    submit: async (visit, form) => {
      const ended = await act(visit, form, { run: () => run(visit, form), back: back(visit) });
      if (ended.kind === "reply") return ended.reply;
      return ended.kind === "failed" ? failed(ended.failure, visit) : done(ended.result, visit);
    },
  };
}

const changed = "This has changed in the meantime. Below is the current state.";
const expired =
  "You did not confirm in time, so nothing was done. Below is the current state. " +
  "Check it, then confirm again.";

function describeFault(fault: NoYes | undefined): string | undefined {
  return fault?.kind === "over" ? expired : fault?.text;
}

/** The name of the button that says no, and has what was typed before the question shown again. */
export const leave = "leave";

/** By this a question is known again that was shown before it was asked. */
export function printQuestion({ title, facts, count }: Question): string {
  const text = JSON.stringify([title, facts, count]);
  return createHash("sha256").update(text).digest("base64url");
}

type Asking = {
  readonly question: Question;
  readonly visit: Visit;
  readonly hidden: readonly (readonly [name: string, value: string])[];
  /** How a no is said: by going on elsewhere, by going back to the form, or as a decision. */
  readonly no: { readonly to: string } | "leave" | "decide";
  readonly noLabel?: string;
  readonly fault?: string | undefined;
  /** Whether leaving the page loses what a person typed in a form. */
  readonly isTyped?: boolean;
  /** How long somebody waits for the answer. */
  readonly term?: string;
};

const own = new Set(["form_token", "question", "shown", "pin", "count", leave]);

export function renderQuestion(asking: Asking): Html {
  const { question, visit, hidden, fault, term, isTyped = false } = asking;
  const address = `${visit.url.pathname}${writeFrom(visit.url)}`;
  const { facts, frames, rows, count, pin, blocked } = question;
  const faults = [fault, blocked].filter((text) => text !== undefined).join(" ");
  return html`<section class="card question" aria-label="What will happen">
    <div class="inside">
      ${renderFault(faults)} ${trust(frames)} ${trust(facts)} ${trust(rows)}
      <form method="post" action="${address}" class="stack" ${renderGuard(isTyped)}>
        ${renderHidden("form_token", visit.formToken)}
        ${hidden.map(([name, value]) => renderHidden(name, value))}
        ${blocked === undefined && count !== undefined ? renderCount(count) : ""}
        ${blocked === undefined && pin !== undefined ? renderPin(describeLeft(pin)) : ""}
        <div class="buttons">${renderAnswers(asking)}</div>
      </form>
      ${term === undefined ? "" : html`<p class="hint">${term}</p>`}
    </div>
  </section>`;
}

function renderAnswers({ question, no, noLabel = "Cancel" }: Asking): Html {
  const { button, destroys, blocked } = question;
  const look = destroys ? "main grave" : "main";
  const yes = no === "decide" ? html` name="decision" value="approved"` : "";
  return html`${
    blocked === undefined ? html`<button class="${look}" ${yes}>${button}</button>` : ""
  }
  ${renderNo(no, noLabel)}`;
}

function renderNo(no: Asking["no"], label: string): Html {
  if (no === "decide") {
    return html`<button name="decision" value="declined" formnovalidate>Decline</button>`;
  }
  if (no === leave) return html`<button name="${leave}" formnovalidate>${label}</button>`;
  return html`<a class="button" href="${no.to}">${label}</a>`;
}

function describeLeft({ left }: AskedPin): string {
  if (left === undefined) return "";
  return left === 1 ? "One try is left." : `${left} tries are left.`;
}
