import { createHash } from "node:crypto";
import type { ChangeResult, CallError, ApprovalRejection, ConsoleQuestion } from "./account.ts";
import { renderGuard } from "./form-fields.ts";
import { html, trust, type Html, type Part } from "./html.ts";
import type { Form, Page, Reply, PageRequest } from "./page.ts";
import { renderFault, renderForm, renderHidden, renderPin } from "./parts.ts";
import { writeFrom } from "./read-address.ts";

/**
 * Runs a form's action. A change that needs approval is first shown on a page with a confirmation
 * form. This form approves only the change on that page. If the change is no longer the same
 * when the form is submitted, the page shows the new change instead.
 */

type ConsoleAct<Result, Done> = {
  readonly run: () => Promise<ChangeResult<Result>>;
  /** The path that Cancel opens. If omitted, Cancel returns to the form and keeps its input. */
  readonly back?: string;
  readonly done: (result: Result) => Done | Promise<Done>;
  readonly failed: (failure: CallError) => Reply | Promise<Reply>;
};

export async function act<Result, Done = Reply>(
  request: PageRequest,
  form: Form,
  { run, back, done, failed }: ConsoleAct<Result, Done>,
): Promise<Reply | Done> {
  const { account } = request;
  const typed = { pin: form.read("pin"), count: form.read("count") };
  const [asked, shown] = [form.read("question"), form.read("shown")];
  let fault = asked === "" ? undefined : await account.approve(asked, typed);
  let answer = await run();
  // The confirmation form contains the hash of the change that the user saw.
  const isShown = answer.kind === "asks" && printQuestion(answer.question) === shown;
  if (asked === "" && answer.kind === "asks" && isShown) {
    fault = await account.approve(answer.question.id, typed);
    answer = await run();
  }
  if (answer.kind === "done") return done(answer.result);
  if (answer.kind === "failed") return failed(answer.failure);
  const { question } = answer;
  const isAnother = asked === "" ? shown !== "" && !isShown : question.id !== asked;
  const why = isAnother && fault?.kind !== "over" ? changed : describeFault(fault);
  const no = back === undefined ? leave : { to: back };
  const kept = form.entries.filter(([name]) => !reservedFields.has(name));
  const hidden = [["question", question.id] as const, ...kept];
  return {
    kind: "page",
    title: question.button,
    heading: question.title,
    body: renderQuestion({ question, request, hidden, no, fault: why }),
    status: 200,
    hasFrames: question.frames !== "",
  };
}

type ActPage<Result> = Pick<Page, "path" | "needs"> & {
  /** The path that Cancel opens. GET requests for this page are redirected there too. */
  readonly back: (request: PageRequest) => string;
  readonly run: (request: PageRequest, form: Form) => Promise<ChangeResult<Result>>;
  readonly done: (result: Result, request: PageRequest) => Reply;
  readonly failed: (failure: CallError, request: PageRequest) => Reply | Promise<Reply>;
};

/** Creates a page that runs an action when a form is submitted to it, after approval if needed. */
export function createActPage<Result>(page: ActPage<Result>): Page {
  const { back, run, done, failed, ...place } = page;
  return {
    ...place,
    show: (request) => ({ kind: "go", to: back(request) }),
    submit: (request, form) =>
      act(request, form, {
        run: () => run(request, form),
        back: back(request),
        done: (result) => done(result, request),
        failed: (failure) => failed(failure, request),
      }),
  };
}

const changed = "This has changed in the meantime. Below is the current state.";
const expired =
  "You did not confirm in time, so nothing was done. Below is the current state. " +
  "Check it, then confirm again.";

function describeFault(fault: ApprovalRejection | undefined): string | undefined {
  return fault?.kind === "over" ? expired : fault?.text;
}

/** The name of the Cancel button that returns to the form with its input. */
export const leave = "leave";

/** Hashes a question, so that a form can record which question the user saw. */
export function printQuestion({ title, facts, count }: ConsoleQuestion): string {
  const text = JSON.stringify([title, facts, count]);
  return createHash("sha256").update(text).digest("base64url");
}

type QuestionView = {
  readonly question: ConsoleQuestion;
  readonly request: PageRequest;
  readonly hidden: readonly (readonly [name: string, value: string])[];
  /** What Cancel opens: another page, or the form again. */
  readonly no: { readonly to: string } | "leave";
  readonly noLabel?: string;
  readonly fault?: string | undefined;
  readonly isTyped?: boolean;
};

const reservedFields = new Set(["form_token", "question", "shown", "pin", "count", leave]);

export function renderQuestion(asking: QuestionView): Html {
  const { question, request, hidden, fault, isTyped = false } = asking;
  const address = `${request.url.pathname}${writeFrom(request.url)}`;
  const { facts, frames, rows, count, pin, blocked } = question;
  const isOpen = blocked === undefined;
  const faults = [fault, blocked].filter((text) => text !== undefined).join(" ");
  const fields = html`${hidden.map(([name, value]) => renderHidden(name, value))}
    ${isOpen && count !== undefined && renderCount(count)}
    ${isOpen && pin !== undefined && renderPin(describeLeft(pin.left))}
    <div class="buttons">${renderAnswers(asking)}</div>`;
  const attributes = html`class="stack" ${renderGuard(isTyped)}`;
  return html`<section class="card question" aria-label="What will happen">
    <div class="inside">
      ${renderFault(faults)} ${trust(frames)} ${trust(facts)} ${trust(rows)}
      ${renderForm(request, address, fields, attributes)}
    </div>
  </section>`;
}

/** Typing the number confirms that the user has seen how many links change. */
function renderCount(count: number): Html {
  return html`<div class="field">
    <label for="count">Type ${count}, the number of links</label>
    <input id="count" name="count" inputmode="numeric" autocomplete="off" required />
  </div>`;
}

function renderAnswers({ question, no, noLabel = "Cancel" }: QuestionView): Part {
  const { button, destroys, blocked } = question;
  const look = destroys ? "main grave" : "main";
  return [
    blocked === undefined && html`<button class="${look}">${button}</button>`,
    no === leave
      ? html`<button name="${leave}" formnovalidate>${noLabel}</button>`
      : html`<a class="button" href="${no.to}">${noLabel}</a>`,
  ];
}

function describeLeft(left: number | undefined): string {
  if (left === undefined) return "";
  return left === 1 ? "One try is left." : `${left} tries are left.`;
}
