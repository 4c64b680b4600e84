import type { RunInTurn } from "../../src/template/check-queue.ts";
import { checkTemplate } from "../../src/template/check-template.ts";
import type { TemplateSource } from "../../src/template/page-input.ts";

const atOnce: RunInTurn = (work) => Promise.resolve().then(work);

/** Everything that is wrong with a template, by a clock that stands still. */
export function lookOver(source: TemplateSource, take: RunInTurn = atOnce) {
  return checkTemplate(source, { take, monotonic: () => 0 });
}
