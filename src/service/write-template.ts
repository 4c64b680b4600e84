import { describeTemplateState } from "../contract/condition.ts";
import { limits } from "../contract/limits.ts";
import { messages } from "../contract/messages.ts";
import type { PageTemplate, TemplateFields } from "../contract/page-template.ts";
import {
  faultOf,
  notFound,
  overloaded,
  Problem,
  templateRefused,
  type PlacedProblem,
} from "../contract/problem.ts";
import { judgeBy, restoreDestinations } from "../contract/rules/destinations.ts";
import { isStorable } from "../contract/text.ts";
import { findTemplate, type TemplateTexts } from "../store/page-templates.ts";
import type { Tenant } from "../store/tables.ts";
import type { RunQueued } from "../template/check-queue.ts";
import type { CheckTiming } from "../template/check-template.ts";
import { createLocator } from "../template/line-and-column.ts";
import { readTenant, writeTenant, type WriteCall } from "./handler.ts";
import { createIdAndTime, type IdAndTime } from "./ids.ts";
import { requireCondition, type Precondition } from "./precondition.ts";

/** Changes the draft of a page template. Checks the whole template first. */

type DraftChange = { readonly isFirst: boolean; readonly template: PageTemplate };

type WriteDraft = (tenant: Tenant, idAndTime: IdAndTime, text: TemplateTexts) => Promise<void>;

const mostAttempts = 5;

/**
 * Applies the fields to the draft, checks the result, and calls `write`. The check runs before the
 * transaction, which must be short. If the draft changes meanwhile, both are repeated.
 */
export async function changeDraft(
  call: WriteCall,
  fields: TemplateFields,
  purpose: "save" | "publish",
  write: WriteDraft,
): Promise<DraftChange> {
  for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
    const known = await findTemplate(readTenant(call));
    const checked = applyFields(known, fields, purpose);
    const { waitInQueue, clock } = call.services;
    await waitInQueue(call, async (runQueued) => {
      await requireValidTemplate(checked, { runQueued, monotonic: clock.monotonic });
      // An unchanged body may contain URLs that are no longer allowed.
      const kept = purpose === "save" ? known?.body : known?.live_version?.body;
      if (checked.body !== kept) await requireDestinations(call, checked.body, runQueued);
    });
    const changed = await writeTenant(call, async (tenant): Promise<DraftChange | undefined> => {
      const before = await findTemplate(tenant);
      requireShownTemplate(call.precondition, before);
      const { body, css } = applyFields(before, fields, purpose);
      if (body !== checked.body || css !== checked.css) return undefined;
      // Saving an unchanged draft changes nothing, not even its date.
      const isSame = before?.body === body && before.css === css;
      if (purpose === "save" && isSame) return { isFirst: false, template: before };
      await write(tenant, createIdAndTime(call.services), { body, css });
      const template = await findTemplate(tenant);
      if (template === undefined) throw new Error("a saved template could not be read back");
      return { isFirst: before === undefined, template };
    });
    if (changed !== undefined) return changed;
  }
  throw overloaded();
}

/** Checks the precondition. Callers who may not read the draft have only seen the live version. */
export function requireShownTemplate(
  precondition: Precondition,
  template: PageTemplate | undefined,
): void {
  if (template === undefined) return requireAbsent(precondition);
  const live_id = template.live_version?.id ?? null;
  const states = [template, undefined].map((draft) => describeTemplateState(draft, live_id));
  requireCondition(precondition, ...states);
}

/**
 * Checks the precondition for a missing template. Callers who may not read drafts cannot
 * distinguish it from an unpublished one.
 */
function requireAbsent({ tags, mustBeAbsent }: Precondition): void {
  if (mustBeAbsent || tags === undefined || tags.includes("*")) {
    return requireCondition({ tags, mustBeAbsent });
  }
  requireCondition({ tags, mustBeAbsent }, describeTemplateState(undefined, null));
}

/** Rejects a template with links to hosts that the project does not allow. */
async function requireDestinations(
  { caller }: WriteCall,
  body: string,
  runQueued: RunQueued,
): Promise<void> {
  const destinations = restoreDestinations(caller.project.destinations);
  if (destinations === undefined) return;
  const { findForeignAddresses } = await import("../template/find-foreign-addresses.ts");
  const problems = await runQueued(() => findForeignAddresses(body, judgeBy(destinations)));
  if (problems.length > 0) throw templateRefused(problems);
}

/** Applies fields to the draft. An omitted field stays unchanged; an empty one becomes empty. */
function applyFields(
  before: PageTemplate | undefined,
  fields: TemplateFields,
  purpose: "save" | "publish",
): TemplateTexts {
  const isNothing = fields.body === undefined && fields.css === undefined;
  if (before === undefined && purpose === "publish" && isNothing) {
    throw notFound(messages.template_not_found);
  }
  return { body: fields.body ?? before?.body ?? "", css: fields.css ?? before?.css ?? "" };
}

/** Reports all problems of a template at once, each with its position. */
export async function requireValidTemplate(
  text: TemplateTexts,
  { runQueued, monotonic }: CheckTiming,
): Promise<void> {
  const storageFaults = await runQueued(() => [
    ...findStorageFaults("body", text.body),
    ...findStorageFaults("css", text.css),
  ]);
  // The parsers are large, and most calls do not need them.
  const { checkTemplate } = await import("../template/check-template.ts");
  const read = { body: readChecked("body", text.body), css: readChecked("css", text.css) };
  const problems = await checkTemplate(read, { runQueued, monotonic });
  if (storageFaults.length === 0 && problems.length === 0) return;
  // The message gives no position for storage faults, but the list of problems does.
  const clauses = storageFaults.map(({ field, message }) => ({ field, message }));
  const { message } = templateRefused([...clauses, ...problems]);
  throw new Problem(422, message, { problems: [...storageFaults, ...problems] });
}

type TemplateField = keyof TemplateTexts;

const most_bytes = { body: limits.template_body_bytes, css: limits.template_css_bytes } as const;

/** Finds problems that make a text impossible to store. */
function findStorageFaults(field: TemplateField, text: string): PlacedProblem[] {
  const place = (offset: number, fault: string) => ({
    ...faultOf(field, fault),
    ...createLocator(text)(offset),
  });
  const faults: PlacedProblem[] = [];
  if (!isStorable(text)) {
    faults.push(place(findUnstorable(text), "contains characters that cannot be stored"));
  }
  const most = most_bytes[field];
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(most));
  if (read < text.length) {
    const long = isCheckable(field, text) ? "too long" : "too long to check";
    faults.push(place(read, `is ${long} (maximum is ${most} bytes)`));
  }
  return faults;
}

function findUnstorable(text: string): number {
  let offset = 0;
  for (const character of text) {
    if (!isStorable(character)) break;
    offset += character.length;
  }
  return offset;
}

/** Checks whether a text is short enough to check. A slightly longer text is still checked. */
function isCheckable(field: TemplateField, text: string): boolean {
  return text.length <= most_bytes[field] * 1.25;
}

/**
 * Returns the text to check. Characters that cannot be stored become spaces, so that all positions
 * stay right.
 */
function readChecked(field: TemplateField, text: string): string {
  if (!isCheckable(field, text)) return "";
  if (isStorable(text)) return text;
  return Array.from(text, (character) => (isStorable(character) ? character : " ")).join("");
}
