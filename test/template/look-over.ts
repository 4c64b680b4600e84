import type { RunQueued } from "../../src/template/check-queue.ts";
import { checkTemplate } from "../../src/template/check-template.ts";
import type { TemplateSource } from "../../src/template/page-input.ts";

/** Checks templates without a queue or a deadline. */

const atOnce: RunQueued = (work) => Promise.resolve().then(work);

/** All problems of a template, with a clock that does not advance. */
export function lookOver(source: TemplateSource, runQueued: RunQueued = atOnce) {
  return checkTemplate(source, { runQueued, monotonic: () => 0 });
}
