import { TypeGuards, type Template } from "liquidjs";
import { unseenButtons } from "./check-html.ts";
import { longestPiece_ms } from "./check-queue.ts";
import { cleanHtml, HtmlTooLarge, mark } from "./clean-html.ts";
import {
  explainLiquid,
  LiquidStopped,
  parseLiquid,
  renderLiquid,
  type TimeLimit,
} from "./liquid.ts";
import type { Fault, PageSubject } from "./page-input.ts";
import { sampleButtons } from "./sample-links.ts";
import { asDesigned, renderButtons } from "./store-buttons.ts";
import { visitParts } from "./liquid-shape.ts";
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

/** From which place of its source each part of a template's output came. */
type Trace = {
  /** The offset in the source of what stands at an offset of the last output. */
  readonly locate: (offset: number) => number;
  /** Forgets the last output. */
  readonly restart: () => void;
};

type Write = {
  /** The length of the output before. */
  readonly at: number;
  readonly begin: number;
  /** How much of the source it is, letter by letter. */
  readonly length: number;
};

/** From now on, each part of the templates that writes something notes where it wrote it. */
function traceWrites(templates: readonly Template[]): Trace {
  let writes: Write[] = [];
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

function readSource({ token }: Template): Pick<Write, "begin" | "length"> | undefined {
  const isButtons = TypeGuards.isTagToken(token) && token.name === "store_buttons";
  if (isButtons || TypeGuards.isOutputToken(token)) return { begin: token.begin, length: 1 };
  if (!TypeGuards.isHTMLToken(token)) return undefined;
  // White space that {%- and -%} take away is not written.
  const begin = token.begin + token.trimLeft;
  return { begin, length: token.end - token.trimRight - begin };
}
