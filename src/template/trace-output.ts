import { TypeGuards, type Template } from "liquidjs";
import { visitParts } from "./liquid-shape.ts";

/** From which place of its source each part of a template's output came. */
export type Trace = {
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
export function traceWrites(templates: readonly Template[]): Trace {
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
