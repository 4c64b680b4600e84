import { checkCss } from "./check-css.ts";
import { checkHtml } from "./check-html.ts";
import { checkLiquid } from "./check-liquid.ts";
import type { RunInTurn } from "./check-queue.ts";
import { createLocator } from "./locate.ts";
import type { TemplateProblem, TemplateSource } from "./page-input.ts";
import { samples } from "./samples.ts";
import { prepareTrial, type Trial } from "./try-out.ts";

/** When it is done, and by whose clock what takes too long is stopped. */
export type Looking = { readonly take: RunInTurn; readonly monotonic: () => number };

/** More would help nobody; how many there are is told. */
const mostProblems = 50;

/**
 * Everything that is wrong with a template, each with the place where it stands. A body that Liquid
 * can read is rendered for links of every kind as well, because Liquid can make of sound pieces
 * what no page may have. It is done in turns: others have theirs in between.
 */
export async function checkTemplate(
  { body, css }: TemplateSource,
  { take, monotonic }: Looking,
): Promise<readonly TemplateProblem[]> {
  const ofBody = createFaults("body", body);
  const ofCss = createFaults("css", css);
  // An empty body is no template yet, and asks for nothing.
  if (body !== "") {
    const { painted, isReadable } = await take(() => checkLiquid(body, ofBody.tell));
    const trial = isReadable ? await take(() => prepareTrial(body, monotonic)) : undefined;
    // What is wrong with the whole alone: a piece that cannot be read was told already.
    if (trial && "message" in trial && ofBody.isEmpty()) ofBody.tell(trial.offset, trial.message);
    await take(() => checkHtml(body, painted, ofBody.tell));
    if (trial && "render" in trial) await tryOut(trial, ofBody, take);
  }
  await take(() => checkCss(css, ofCss.tell));
  return [...ofBody.list(), ...ofCss.list()];
}

async function tryOut(trial: Trial, faults: Faults, take: RunInTurn): Promise<void> {
  for (const subject of samples) {
    for (const { offset, message } of await take(() => trial.render(subject))) {
      // What stands in the source was told there.
      if (faults.has(message)) continue;
      faults.tell(offset, `What Liquid makes of the body cannot be shown: ${message}`);
    }
  }
}

type Faults = {
  readonly tell: (offset: number, message: string) => void;
  readonly has: (message: string) => boolean;
  readonly isEmpty: () => boolean;
  readonly list: () => readonly TemplateProblem[];
};

/** Each fault is told once, in the order of their places. */
function createFaults(field: TemplateProblem["field"], source: string): Faults {
  const found = new Map<string, { readonly offset: number; readonly message: string }>();
  const messages = new Set<string>();
  return {
    tell: (offset, message) => {
      found.set(`${offset} ${message}`, { offset, message });
      messages.add(message);
    },
    has: (message) => messages.has(message),
    isEmpty: () => found.size === 0,
    list: () => {
      const locate = createLocator(source);
      const faults = [...found.values()].toSorted((one, other) => one.offset - other.offset);
      const [next] = faults.slice(mostProblems);
      const told = faults.slice(0, mostProblems);
      if (next !== undefined) {
        const count = faults.length - mostProblems;
        const message = `And ${count} more problem${count === 1 ? "" : "s"}.`;
        told.push({ offset: next.offset, message });
      }
      return told.map(({ offset, message }) => ({ field, ...locate(offset), message }));
    },
  };
}
