import type { PageTemplate, TemplateFields } from "../contract/page-template.ts";
import { limits } from "../contract/policy.ts";
import {
  faultOf,
  notFound,
  overloaded,
  Problem,
  templateRefused,
  type PlacedProblem,
} from "../contract/problem.ts";
import { messages } from "../contract/messages.ts";
import { isStorable } from "../contract/text.ts";
import { findTemplate, type TemplateText } from "../store/page-templates.ts";
import type { Tenant } from "../store/tenant.ts";
import { createLocator } from "../template/line-and-column.ts";
import type { CheckTiming } from "../template/check-template.ts";
import { readTenant, stamp, writeTenant, type WriteCall } from "./handler.ts";

/** How a draft comes to be and changes: looked over as a whole, and then written. */

type Changed = { readonly isFirst: boolean; readonly template: PageTemplate };

type Write = (
  tenant: Tenant,
  at: { readonly id: string; readonly now: number },
  text: TemplateText,
) => Promise<void>;

const mostTries = 5;

/**
 * Lays the fields over the draft, and writes it by `write` when nothing is wrong with the whole.
 * That is looked into before the transaction, which must be short; where the draft has changed
 * meanwhile, it is done again.
 */
export async function changeDraft(
  call: WriteCall,
  fields: TemplateFields,
  purpose: "save" | "publish",
  write: Write,
): Promise<Changed> {
  for (let turn = 0; turn < mostTries; turn += 1) {
    const checked = layOver(await findTemplate(readTenant(call)), fields, purpose);
    const { waitInQueue, clock } = call.services;
    const { monotonic } = clock;
    await waitInQueue(call, (take) => requireSound(checked, purpose, { take, monotonic }));
    const changed = await writeTenant(call, async (tenant): Promise<Changed | undefined> => {
      const before = await findTemplate(tenant);
      const { body, css } = layOver(before, fields, purpose);
      if (body !== checked.body || css !== checked.css) return undefined;
      // Whoever saves what is there already changes nothing, not even its date.
      const isSame = before?.body === body && before.css === css;
      if (purpose === "save" && isSame) return { isFirst: false, template: before };
      await write(tenant, stamp(call.services), { body, css });
      const template = await findTemplate(tenant);
      if (template === undefined) throw new Error("a written template did not come back");
      return { isFirst: before === undefined, template };
    });
    if (changed !== undefined) return changed;
  }
  throw overloaded();
}

/** Left out keeps, empty clears (api-spec.md, "Page template"). */
function layOver(
  before: PageTemplate | undefined,
  fields: TemplateFields,
  purpose: "save" | "publish",
): TemplateText {
  const isNothing = fields.body === undefined && fields.css === undefined;
  if (before === undefined && purpose === "publish" && isNothing) {
    throw notFound(messages.template_not_found);
  }
  return { body: fields.body ?? before?.body ?? "", css: fields.css ?? before?.css ?? "" };
}

/** Throws everything that is wrong with a template at once, each with its place. */
export async function requireSound(
  text: TemplateText,
  purpose: "save" | "publish" | "preview",
  { take, monotonic }: CheckTiming,
): Promise<void> {
  const misfits = await take(() => [
    ...listMisfits("body", text.body),
    ...listMisfits("css", text.css),
  ]);
  // An empty draft is none yet, and nothing that links could show.
  if (purpose === "publish" && text.body === "") {
    misfits.push({ ...faultOf("body", "can't be blank"), line: 1, column: 1 });
  }
  // The parsers are heavy, and most calls need none of them.
  const { checkTemplate } = await import("../template/check-template.ts");
  const read = { body: readChecked("body", text.body), css: readChecked("css", text.css) };
  const problems = await checkTemplate(read, { take, monotonic });
  if (misfits.length === 0 && problems.length === 0) return;
  // What is wrong with a text as a whole names it already; the list tells where it begins.
  const clauses = misfits.map(({ field, message }) => ({ field, message }));
  const { message } = templateRefused([...clauses, ...problems]);
  throw new Problem(422, message, { problems: [...misfits, ...problems] });
}

type Field = keyof TemplateText;

const most_bytes = { body: limits.template_body_bytes, css: limits.template_css_bytes } as const;

/** What makes a text impossible to keep, whatever it says. */
function listMisfits(field: Field, text: string): PlacedProblem[] {
  const place = (offset: number, fault: string) => ({
    ...faultOf(field, fault),
    ...createLocator(text)(offset),
  });
  const misfits: PlacedProblem[] = [];
  if (!isStorable(text)) {
    misfits.push(place(findUnstorable(text), "contains characters that cannot be stored"));
  }
  const most = most_bytes[field];
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(most));
  if (read < text.length) {
    const long = isCheap(field, text) ? "too long" : "too long to be looked at";
    misfits.push(place(read, `is ${long} (maximum is ${most} bytes)`));
  }
  return misfits;
}

function findUnstorable(text: string): number {
  let offset = 0;
  for (const character of text) {
    if (!isStorable(character)) break;
    offset += character.length;
  }
  return offset;
}

/** Checking takes longer the longer a text is; what is hardly too long can still be checked. */
function isCheap(field: Field, text: string): boolean {
  return text.length <= most_bytes[field] * 1.25;
}

/** What is looked at of a text that perhaps cannot be kept; what is left out leaves its place. */
function readChecked(field: Field, text: string): string {
  if (!isCheap(field, text)) return "";
  if (isStorable(text)) return text;
  return Array.from(text, (character) => (isStorable(character) ? character : " ")).join("");
}
