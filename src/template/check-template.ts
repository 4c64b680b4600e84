import { checkCss } from "./check-css.ts";
import { checkHtml } from "./check-html.ts";
import { checkLiquid } from "./check-liquid.ts";
import type { RunInTurn } from "./check-queue.ts";
import { prepareRenderedCheck, type CheckRendered } from "./check-rendered.ts";
import { placeFaults } from "./line-and-column.ts";
import type { TemplateFault, ReportFault, TemplateProblem, TemplateSource } from "./page-input.ts";
import { samples } from "./sample-links.ts";

/** Runs work in turns, and provides the clock for time limits. */
export type CheckTiming = { readonly take: RunInTurn; readonly monotonic: () => number };

/** A longer list helps no author. The number of further problems is added. */
const mostProblems = 50;

/**
 * Returns all problems of a template with their places. A body that Liquid can parse is also
 * rendered for several sample links, because Liquid can turn valid pieces into an invalid page. The
 * work runs in turns, so that other requests are answered in between.
 */
export async function checkTemplate(
  { body, css }: TemplateSource,
  { take, monotonic }: CheckTiming,
): Promise<readonly TemplateProblem[]> {
  const ofBody: Faults = new Map();
  const ofCss: Faults = new Map();
  const report = reportTo(ofBody);
  // An empty body means that there is no template yet.
  if (body !== "") {
    const { pieces, isReadable } = await take(() => checkLiquid(body, report));
    const check = isReadable ? await take(() => prepareRenderedCheck(body, monotonic)) : undefined;
    // Reported only if no single piece has a fault, because then the body as a whole has.
    if (typeof check === "object" && ofBody.size === 0) report(check.offset, check.message);
    await take(() => checkHtml(body, pieces, report));
    if (typeof check === "function") await reportRendered(check, ofBody, take);
  }
  await take(() => checkCss(css, reportTo(ofCss)));
  return [...listProblems("body", body, ofBody), ...listProblems("css", css, ofCss)];
}

async function reportRendered(
  check: CheckRendered,
  faults: Faults,
  take: RunInTurn,
): Promise<void> {
  const report = reportTo(faults);
  const ofSource = new Set([...faults.values()].map(({ message }) => message));
  for (const subject of samples) {
    for (const { offset, message } of await take(() => check(subject))) {
      // A fault in the source was already reported at its own place.
      if (ofSource.has(message)) continue;
      report(offset, `The rendered body cannot be shown: ${message}`);
    }
  }
}

/** By place and message, so that each fault is reported once. */
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
