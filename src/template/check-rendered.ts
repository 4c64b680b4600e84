import type { Template } from "liquidjs";
import { unseenButtons } from "./check-html.ts";
import { longestPiece_ms } from "./check-queue.ts";
import { cleanHtml, HtmlTooLarge, mark } from "./clean-html.ts";
import { explainLiquid, LiquidStopped, parseLiquid, renderLiquid } from "./liquid.ts";
import type { TimeLimit } from "./liquid.ts";
import type { Fault, PageSubject } from "./page-input.ts";
import { sampleButtons } from "./sample-links.ts";
import { asDesigned, renderButtons } from "./store-buttons.ts";
import { traceWrites, type Trace } from "./trace-output.ts";
import { buildVariables } from "./liquid-variables.ts";

/**
 * Liquid can make of sound pieces what no page may have, so a body is rendered as well: what is
 * wrong with the page of one link, at the place in the body where it comes from.
 */
export type CheckRendered = (subject: PageSubject) => readonly Fault[];

/** Answers what is wrong instead where liquidjs cannot read the whole. */
export function prepareRenderedCheck(
  body: string,
  monotonic: TimeLimit["monotonic"],
): CheckRendered | Fault {
  const time = { monotonic, most_ms: longestPiece_ms };
  try {
    const templates = parseLiquid(body);
    const trace = traceWrites(templates);
    return (subject) => findFaults(templates, trace, subject, time);
  } catch (error) {
    return explainLiquid(error);
  }
}

function findFaults(
  templates: Template[],
  trace: Trace,
  subject: PageSubject,
  time: TimeLimit,
): readonly Fault[] {
  trace.restart();
  try {
    const made = renderLiquid(templates, buildVariables(subject), time);
    const { faults, hasInserted } = cleanHtml(made, renderButtons(sampleButtons, asDesigned), true);
    // What was left out may have had them in it.
    const at = hasInserted || faults.length > 0 ? -1 : made.indexOf(mark);
    const found = at < 0 ? faults : [...faults, { offset: at, message: unseenButtons }];
    return found.map(({ offset, message }) => ({ offset: trace.locate(offset), message }));
  } catch (error) {
    if (error instanceof HtmlTooLarge) {
      return [{ offset: trace.locate(error.offset), message: error.message }];
    }
    // liquidjs wraps what is thrown while it renders, and says where that was.
    const { offset } = explainLiquid(error);
    const isWrapped = error instanceof Error && "originalError" in error;
    const cause: unknown = isWrapped ? error.originalError : error;
    const message =
      cause instanceof LiquidStopped ? cause.message : "The template cannot be rendered.";
    return [{ offset, message }];
  }
}
