import { TypeGuards, type Template } from "liquidjs";
import { checkCss } from "./check-css.ts";
import { checkHtml, unseenButtons } from "./check-html.ts";
import { checkLiquid } from "./check-liquid.ts";
import { pageTimeLimit_ms, type RunQueued } from "./check-queue.ts";
import { cleanHtml, HtmlTooLarge, mark } from "./clean-html.ts";
import { placeFaults } from "./line-and-column.ts";
import { visitParts } from "./liquid-shape.ts";
import { buildVariables } from "./liquid-variables.ts";
import {
  explainLiquid,
  LiquidStopped,
  parseLiquid,
  renderLiquid,
  type TimeLimit,
} from "./liquid.ts";
import type {
  TemplateFault,
  ReportFault,
  TemplateProblem,
  TemplateSource,
  PageSubject,
} from "./page-input.ts";
import { samples, sampleButtons } from "./sample-links.ts";
import { templateForm, renderButtons } from "./store-buttons.ts";

/** Checks a template, and reports its problems with their positions. */

export type CheckTiming = { readonly runQueued: RunQueued; readonly monotonic: () => number };

/** The maximum number of problems to list. If there are more, a last entry states how many. */
const mostProblems = 50;

/**
 * Returns all problems of a template with their positions. Also renders the body for several sample
 * links, because valid Liquid can render an invalid page. The steps are queued, so that other
 * requests are answered in between.
 */
export async function checkTemplate(
  { body, css }: TemplateSource,
  { runQueued, monotonic }: CheckTiming,
): Promise<readonly TemplateProblem[]> {
  const ofBody: Faults = new Map();
  const ofCss: Faults = new Map();
  const report = reportTo(ofBody);
  // An empty body means that the project has no template yet.
  if (body !== "") {
    const { pieces, isReadable } = await runQueued(() => checkLiquid(body, report));
    const check = isReadable
      ? await runQueued(() => prepareRenderedCheck(body, monotonic))
      : undefined;
    // A fault in a piece also makes the whole body unreadable. That fault is already reported.
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
      if (ofSource.has(message)) continue;
      report(offset, `The rendered body cannot be shown: ${message}`);
    }
  }
}

/** Faults by position and message, because the same fault may be found more than once. */
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

/** Renders the body for a sample link, and checks the page. Offsets are positions in the source. */
type CheckRendered = (subject: PageSubject) => readonly TemplateFault[];

/** Parses the body for `CheckRendered`. Returns a fault if liquidjs cannot parse it. */
function prepareRenderedCheck(
  body: string,
  monotonic: TimeLimit["monotonic"],
): CheckRendered | TemplateFault {
  const time = { monotonic, most_ms: pageTimeLimit_ms };
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
): readonly TemplateFault[] {
  trace.restart();
  try {
    const made = renderLiquid(templates, buildVariables(subject), time);
    const { faults, hasInserted } = cleanHtml(
      made,
      renderButtons(sampleButtons, templateForm),
      true,
    );
    // Do not report missing buttons if other markup was removed: they may have been part of it.
    const at = hasInserted || faults.length > 0 ? -1 : made.indexOf(mark);
    const found = at < 0 ? faults : [...faults, { offset: at, message: unseenButtons }];
    return found.map(({ offset, message }) => ({ offset: trace.locate(offset), message }));
  } catch (error) {
    if (error instanceof HtmlTooLarge) {
      return [{ offset: trace.locate(error.offset), message: error.message }];
    }
    // During rendering, liquidjs wraps each error in one that has a position.
    const { offset } = explainLiquid(error);
    const isWrapped = error instanceof Error && "originalError" in error;
    const cause: unknown = isWrapped ? error.originalError : error;
    const message =
      cause instanceof LiquidStopped ? cause.message : "The template cannot be rendered.";
    return [{ offset, message }];
  }
}

/** Maps positions in a template's output to positions in its source. */
type Trace = {
  /** Returns the offset in the source for an offset in the latest output. */
  readonly locate: (offset: number) => number;
  readonly restart: () => void;
};

type OutputPart = {
  /** The part's offset in the output. */
  readonly at: number;
  readonly begin: number;
  /** How many characters are copied from the source to the output without changes. */
  readonly length: number;
};

/** Wraps the parts of a template, so that they record their position in the output. */
function traceWrites(templates: readonly Template[]): Trace {
  let writes: OutputPart[] = [];
  visitParts(templates, (part) => {
    if (!isTemplate(part)) return;
    const source = readSource(part);
    if (source === undefined) return;
    const render = part.render.bind(part);
    part.render = (context, emitter) => {
      writes.push({ at: emitter.buffer.length, ...source });
      return render(context, emitter);
    };
  });
  return {
    locate: (offset) => {
      const write = writes.findLast(({ at }) => at <= offset);
      if (write === undefined) return 0;
      return write.begin + Math.min(offset - write.at, Math.max(0, write.length - 1));
    },
    restart: () => {
      writes = [];
    },
  };
}

function isTemplate(part: object): part is Template {
  return "render" in part && "token" in part;
}

function readSource({ token }: Template): Pick<OutputPart, "begin" | "length"> | undefined {
  const isButtons = TypeGuards.isTagToken(token) && token.name === "store_buttons";
  if (isButtons || TypeGuards.isOutputToken(token)) return { begin: token.begin, length: 1 };
  if (!TypeGuards.isHTMLToken(token)) return undefined;
  // White space removed by {%- and -%} is not in the output.
  const begin = token.begin + token.trimLeft;
  return { begin, length: token.end - token.trimRight - begin };
}
