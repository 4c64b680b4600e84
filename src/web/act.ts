import type { JsonObject } from "../contract/json.ts";
import type { Failure, Question } from "./account.ts";
import { html, trust, type Html } from "./html.ts";
import type { Form, Reply, Visit } from "./page.ts";
import { renderFault, renderHidden, renderPin } from "./parts.ts";

/**
 * An act that a form asks for. Where it needs a yes, the person is shown what will happen, and the
 * same form comes again with it: the yes counts for this very act on what was shown. Where that has
 * changed meanwhile, it is shown as it is then.
 */

type Act = {
  readonly tool: string;
  readonly args: JsonObject;
  /** Where whoever says no goes on. */
  readonly back: string;
};

export type Ended =
  | { readonly kind: "done"; readonly result: JsonObject }
  | { readonly kind: "failed"; readonly failure: Failure }
  /** The page that asks. */
  | { readonly kind: "reply"; readonly reply: Reply };

export async function act(visit: Visit, form: Form, { tool, args, back }: Act): Promise<Ended> {
  const { account } = visit;
  const asked = form.read("question");
  const fault = asked === "" ? undefined : await account.approve(asked, form.read("pin"));
  const answer = await account.call(tool, args);
  if (answer.kind !== "asks") return answer;
  const { question } = answer;
  // A question that was answered, and is there again, is about something else by now.
  const isAnother = asked !== "" && question.id !== asked;
  const told = isAnother ? "It was changed meanwhile. This is how it is now." : fault;
  const body = renderQuestion({ question, visit, form, back, fault: told });
  const hasFrames = question.frames !== "";
  return { kind: "reply", reply: { kind: "page", title: question.button, body, hasFrames } };
}

type Asking = {
  readonly question: Question;
  readonly visit: Visit;
  readonly form: Form;
  readonly back: string;
  readonly fault: string | undefined;
};

const own = new Set(["form_token", "question", "pin"]);

function renderQuestion({ question, visit, form, back, fault }: Asking): Html {
  const { id, title, button, destroys, facts, frames, pinTries, blocked } = question;
  const kept = form.entries.filter(([name]) => !own.has(name));
  const faults = [fault, blocked].filter((text) => text !== undefined).join(" ");
  const look = destroys ? "main grave" : "main";
  const asksPin = pinTries !== undefined && blocked === undefined;
  return html`<div class="head"><h1 dir="auto">${title}</h1></div>
    <section class="card question">
      <div class="inside">
        ${renderFault(faults)} ${trust(frames)} ${trust(facts)}
        <form method="post" action="${visit.url.pathname}" class="stack">
          ${renderHidden("form_token", visit.formToken)} ${renderHidden("question", id)}
          ${kept.map(([name, value]) => renderHidden(name, value))}
          ${asksPin ? renderPin(describeLeft(pinTries)) : ""}
          <div class="buttons">
            ${blocked === undefined ? html`<button class="${look}">${button}</button>` : ""}
            <a class="button" href="${back}">Leave it as it is</a>
          </div>
        </form>
      </div>
    </section>`;
}

function describeLeft(left: number): string {
  return left === 1 ? "One try is left." : `${left} tries are left.`;
}
