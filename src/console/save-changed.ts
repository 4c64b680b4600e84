import type { Answer, Failure, FieldProblem } from "./account.ts";
import { act } from "./act.ts";
import {
  listChanged,
  printValue,
  readShown,
  readTyped,
  type Field,
  type Values,
} from "./form-fields.ts";
import { html, type Html } from "./html.ts";
import type { Form, Reply, Visit } from "./page.ts";
import { renderFault, shorten, tellDone } from "./parts.ts";

/** A form of what is there already: what was changed in it is written, and nothing else. */

type Saving = {
  readonly fields: readonly Field[];
  /** Gives the changed fields what was typed in them. */
  readonly save: (typed: Values, names: readonly string[]) => Promise<Answer<unknown>>;
  /** What is there by now. */
  readonly now: Values;
  /** Its own page. */
  readonly back: string;
};

/** What a form that was not done shows again. */
export type Again = {
  readonly typed?: Values;
  readonly was?: Values;
  readonly failure?: Failure;
};

/** What was typed in a form, and what stood in it before. */
export function readSent(fields: readonly Field[], form: Form): Required<Omit<Again, "failure">> {
  return { was: readShown(fields, form), typed: readTyped(fields, form) };
}

/** Where somebody else has changed the same field meanwhile, that is shown first. */
export async function saveChanged(
  visit: Visit,
  form: Form,
  { fields, save, now, back }: Saving,
): Promise<Reply | { readonly kind: "again"; readonly again: Again }> {
  const { was, typed } = readSent(fields, form);
  const changed = listChanged(fields, was, typed);
  if (changed.length === 0) return { kind: "go", to: tellDone(back, "unchanged") };
  const problems = listConflicts(changed, { was, typed, now });
  if (problems.length > 0) {
    const failure = {
      code: "plan_changed",
      message: "Someone else made changes in the meantime.",
      problems,
    };
    const seen = Object.fromEntries(changed.map((name) => [name, now[name] ?? ""]));
    // Whoever saves it once more has seen what is there now.
    return { kind: "again", again: { typed, was: { ...was, ...seen }, failure } };
  }
  const ended = await act(visit, form, { run: () => save(typed, changed) });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "failed") {
    return { kind: "again", again: { typed, was, failure: ended.failure } };
  }
  return { kind: "go", to: tellDone(back, "saved") };
}

type Held = Readonly<Record<"was" | "typed" | "now", Values>>;

function listConflicts(names: readonly string[], { was, typed, now }: Held): FieldProblem[] {
  return names
    .filter((name) => printValue(now[name]) !== printValue(was[name]))
    .filter((name) => now[name] !== typed[name])
    .map((name) => ({ field: name, message: describeConflict(now[name] ?? "") }));
}

const mostShown = 200;

function describeConflict(value: string): string {
  const is = value === "" ? "It is now empty" : `It is now “${shorten(value, mostShown)}”`;
  return `Someone else changed this in the meantime. ${is}. Save again to overwrite it.`;
}

/** What stands in the fields, and what a change of them is held against. */
export function readForm(
  { kept }: Visit,
  fields: readonly Field[],
  values: Values,
  again: Again,
): { readonly typed: Values; readonly was: Values } {
  return {
    was: again.was ?? (kept === undefined ? values : readShown(fields, kept)),
    typed: again.typed ?? (kept === undefined ? values : readTyped(fields, kept)),
  };
}

/** Whether a form shows what somebody has typed, and not only what is there. */
export function hasTyped({ kept }: Pick<Visit, "kept">, again: Again): boolean {
  return again.typed !== undefined || kept !== undefined;
}

type Unread = {
  readonly title: string;
  readonly head: Html;
  /** The form with what was typed, which says why; undefined where nothing was. */
  readonly form: Html | undefined;
  /** Why it cannot be shown, or why what was asked for before that was not done. */
  readonly fault: string;
};

/** The page of something that cannot be read just now, which is no reason to take it for gone. */
export function showUnread({ title, head, form, fault }: Unread): Reply {
  const shown =
    form === undefined
      ? renderFault(fault)
      : html`<section class="card narrow" aria-label="Fields">
          <div class="inside">${form}</div>
        </section>`;
  const status = form === undefined ? 503 : 422;
  return { kind: "page", title, body: html`${head} ${shown}`, status };
}
