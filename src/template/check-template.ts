import { checkCss } from "./check-css.ts";
import { checkHtml } from "./check-html.ts";
import { checkLiquid } from "./check-liquid.ts";
import type { RunQueued } from "./check-queue.ts";
import { prepareRenderedCheck, type CheckRendered } from "./check-rendered.ts";
import { placeFaults } from "./line-and-column.ts";
import type { TemplateFault, ReportFault, TemplateProblem, TemplateSource } from "./page-input.ts";
import { samples } from "./sample-links.ts";

/** The queue for heavy work, and the clock for time limits. */
export type CheckTiming = { readonly runQueued: RunQueued; readonly monotonic: () => number };

/** A longer list would not help. The last entry counts the remaining problems. */
const mostProblems = 50;

/**
 * Returns all problems of a template with their positions. A body that Liquid can parse is also
 * rendered for several sample links, because Liquid can turn valid pieces into an invalid page. The
 * steps are queued, so that other requests are answered in between.
 */
export async function checkTemplate(
  { body, css }: TemplateSource,
  { runQueued, monotonic }: CheckTiming,
): Promise<readonly TemplateProblem[]> {
  const ofBody: Faults = new Map();
  const ofCss: Faults = new Map();
  const report = reportTo(ofBody);
  // An empty body means that no template exists yet.
  if (body !== "") {
    const { pieces, isReadable } = await runQueued(() => checkLiquid(body, report));
    const check = isReadable
      ? await runQueued(() => prepareRenderedCheck(body, monotonic))
      : undefined;
    // A fault in one piece also makes the whole body unreadable, and was already reported.
    if (typeof check === "object" && ofBody.size === 0) report(check.offset, check.message);
    await runQueued(() => checkHtml(body, pieces, report));
    if (typeof check === "function") await reportRendered(check, ofBody, runQueued);
  }
  await runQueued(() => checkCss(css, reportTo(ofCss)));
  return [...listProblems("body", body, ofBody), ...listProblems("css", css, ofCss)];
}

async function reportRendered(
  check: CheckRendered,
  faults: Faults,
  runQueued: RunQueued,
): Promise<void> {
  const report = reportTo(faults);
  const ofSource = new Set([...faults.values()].map(({ message }) => message));
  for (const subject of samples) {
    for (const { offset, message } of await runQueued(() => check(subject))) {
      // Already reported at its position in the source.
      if (ofSource.has(message)) continue;
      report(offset, `The rendered body cannot be shown: ${message}`);
    }
  }
}

/** Faults by position and message, so that each is reported once. */
type Faults = Map<string, TemplateFault>;

function reportTo(faults: Faults): ReportFault {
  return (offset, message) => faults.set(`${offset} ${message}`, { offset, message });
}

function listProblems(
  field: TemplateProblem["field"],
  source: string,
  found: Faults,
): readonly TemplateProblem[] {
  const faults = [...found.values()].toSorted((one, other) => one.offset - other.offset);
  const shown = faults.slice(0, mostProblems);
  const [next, ...others] = faults.slice(mostProblems);
  if (next !== undefined) {
    const message = `And ${1 + others.length} more problem${others.length === 0 ? "" : "s"}.`;
    shown.push({ offset: next.offset, message });
  }
  return placeFaults(field, source, shown);
}
