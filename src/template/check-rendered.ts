import { TypeGuards, type Template } from "liquidjs";
import { unseenButtons } from "./check-html.ts";
import { pageTimeLimit_ms } from "./check-queue.ts";
import { cleanHtml, HtmlTooLarge, mark } from "./clean-html.ts";
import {
  explainLiquid,
  LiquidStopped,
  parseLiquid,
  renderLiquid,
  type TimeLimit,
} from "./liquid.ts";
import type { TemplateFault, PageSubject } from "./page-input.ts";
import { sampleButtons } from "./sample-links.ts";
import { templateForm, renderButtons } from "./store-buttons.ts";
import { visitParts } from "./liquid-shape.ts";
import { buildVariables } from "./liquid-variables.ts";

/**
 * Renders a body with a sample link and checks the result, because Liquid can turn valid pieces
 * into an invalid page. Faults are reported at their place in the body.
 */
export type CheckRendered = (subject: PageSubject) => readonly TemplateFault[];

/** Prepares the check. Returns a fault instead if liquidjs cannot parse the body. */
export function prepareRenderedCheck(
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
    // If parts were removed, they may have contained the buttons.
    const at = hasInserted || faults.length > 0 ? -1 : made.indexOf(mark);
    const found = at < 0 ? faults : [...faults, { offset: at, message: unseenButtons }];
    return found.map(({ offset, message }) => ({ offset: trace.locate(offset), message }));
  } catch (error) {
    if (error instanceof HtmlTooLarge) {
      return [{ offset: trace.locate(error.offset), message: error.message }];
    }
    // liquidjs wraps errors during rendering and adds their position.
    const { offset } = explainLiquid(error);
    const isWrapped = error instanceof Error && "originalError" in error;
    const cause: unknown = isWrapped ? error.originalError : error;
    const message =
      cause instanceof LiquidStopped ? cause.message : "The template cannot be rendered.";
    return [{ offset, message }];
  }
}

/** Maps a template's output to its source. */
type Trace = {
  /** The offset in the source for an offset in the last output. */
  readonly locate: (offset: number) => number;
  /** Starts the record of a new output. */
  readonly restart: () => void;
};

type OutputPart = {
  /** Where the part starts in the output. */
  readonly at: number;
  readonly begin: number;
  /** The length of the source that is copied unchanged. */
  readonly length: number;
};

/** Wraps the parts of a template, so that each records where it writes. */
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
  // The output does not contain white space that {%- and -%} remove.
  const begin = token.begin + token.trimLeft;
  return { begin, length: token.end - token.trimRight - begin };
}
