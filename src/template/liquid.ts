import { Context, defaultOperators, Drop, Liquid, toValue, type Template } from "liquidjs";
import { escapeText } from "../text/escape.ts";
import { mark } from "./clean-html.ts";
import { listFilters, measure, measureSearch, readText, type AddCost } from "./liquid-filters.ts";
import { findShapeFaults, hasPosition } from "./liquid-shape.ts";
import type { TemplateFault } from "./page-input.ts";

/**
 * Liquid for templates, with only the listed tags and filters. No tag reads a file, no filter
 * evaluates an expression, and every output is escaped. Templates run in this process and cannot be
 * interrupted, so their cost is limited in three ways. `check-liquid.ts` measures each template
 * before it is rendered. `findShapeFaults` rejects syntax on which liquidjs would hang. During
 * rendering, all pieces, values, filters and searches are counted as steps.
 */

export const tagNames: readonly string[] =
  "assign break case comment continue for if store_buttons unless".split(" ");

const mostSteps = 10_000;
/** The maximum length of a page's output after escaping. */
const mostCharacters = 128 * 1024;
/**
 * A page with fewer steps is never checked against the clock, so a slow machine cannot reject it.
 */
const stepsPerClockCheck = 256;

/** Thrown if a page exceeds its limits. */
export class LiquidStopped extends Error {
  override readonly name = "LiquidStopped";
}

/** Thrown for syntax that liquidjs accepts but templates may not contain. */
class LiquidRefused extends Error {
  override readonly name = "LiquidRefused";
  readonly offset: number;

  constructor({ message, offset }: TemplateFault) {
    super(message);
    this.offset = offset;
  }
}

export const engine = createEngine();

type ParsedTemplate = { readonly templates: Template[]; readonly faults: readonly TemplateFault[] };

/**
 * Parses a template, and finds syntax that templates may not contain. Throws if liquidjs cannot
 * parse the template.
 */
export function readLiquid(source: string): ParsedTemplate {
  // Replaces unpaired surrogates, because one of them marks where the buttons are inserted.
  const templates = engine.parse(source.toWellFormed());
  return { templates, faults: findShapeFaults(templates) };
}

/** Parses a template. Throws if it contains syntax that templates may not contain. */
export function parseLiquid(source: string): Template[] {
  const { templates, faults } = readLiquid(source);
  if (faults[0] !== undefined) throw new LiquidRefused(faults[0]);
  return templates;
}

/** Returns the message of a liquidjs error, with its offset in the template. */
export function explainLiquid(error: unknown): TemplateFault {
  if (error instanceof LiquidRefused) return { offset: error.offset, message: error.message };
  if (!(error instanceof Error)) return { offset: 0, message: "Liquid cannot parse this." };
  const token: unknown = "token" in error ? error.token : undefined;
  const message = error.message.replace(/, line:\d+, col:\d+$/, "").slice(0, 200);
  const offset = hasPosition(token) ? token.begin : 0;
  return { offset, message: `Liquid error: ${message}.` };
}

export type TimeLimit = {
  readonly monotonic: () => number;
  readonly most_ms: number;
};

/** Renders a template. Throws `LiquidStopped` if it exceeds its limits. */
export function renderLiquid(
  templates: Template[],
  variables: object,
  time: TimeLimit | undefined,
): string {
  const addSteps = createCostLimit(
    mostSteps,
    "The template takes too many steps. Use fewer loops.",
    time,
  );
  const addCharacters = createCostLimit(mostCharacters, "The page is too long.");
  // liquidjs calls only `check`, before each step. The cast is needed because `Limiter` has private
  // members.
  const renderLimit = { use: () => undefined, check: () => addSteps(1) } as unknown as Limiter;
  const own = { renderLimit, liquid: engine };
  const context = new Context(variables, engine.options, { sync: true }, own);
  countReadValues(context, addSteps);
  pageCosts.set(context, { addSteps, addCharacters });
  return String(engine.renderSync(templates, context));
}

type Limiter = NonNullable<NonNullable<ConstructorParameters<typeof Context>[3]>["renderLimit"]>;

type PageCosts = { readonly addSteps: AddCost; readonly addCharacters: AddCost };
const pageCosts = new WeakMap<object, PageCosts>();

function readCosts(context: object): PageCosts {
  const costs = pageCosts.get(context);
  if (costs === undefined) throw new LiquidStopped("The template is not rendered by renderLiquid.");
  return costs;
}

function createCostLimit(most: number, message: string, time?: TimeLimit): AddCost {
  let cost = 0;
  let nextClockCheck = stepsPerClockCheck;
  const end = time && time.monotonic() + time.most_ms;
  return (added) => {
    cost += added;
    if (cost > most) throw new LiquidStopped(message);
    if (time === undefined || end === undefined || cost < nextClockCheck) return;
    nextClockCheck = cost + stepsPerClockCheck;
    if (time.monotonic() > end) throw new LiquidStopped("The template takes too long to render.");
  };
}

/**
 * The properties of `forloop` that templates may read. Without this list, liquidjs would call any
 * method of `forloop`.
 */
const loopNames = new Set(["first", "index", "index0", "last", "length", "rindex", "rindex0"]);

/** Counts the values that a template reads. liquidjs reads each of them with `readProperty`. */
function countReadValues(context: Context, addSteps: AddCost): void {
  const read = context.readProperty.bind(context);
  context.readProperty = (holder, key) => {
    const isName = typeof key === "string" || typeof key === "number";
    // A list is not a name, but liquidjs would join the list and use the result as a name.
    if (!isName || (holder instanceof Drop && !loopNames.has(String(key)))) {
      addSteps(1);
      return undefined;
    }
    const value: unknown = read(holder, key);
    addSteps(1 + measure(value) / 64);
    return value;
  };
}

function createEngine(): Liquid {
  const engine = new Liquid({
    // Unknown filters are not errors here, because liquidjs would report only the first one.
    // `findShapeFaults` reports all of them.
    strictFilters: false,
    lenientIf: true,
    ownPropertyOnly: true,
    // With an empty object, liquidjs reads no templates from the file system.
    templates: {},
    locale: "en",
    operators: {
      ...defaultOperators,
      contains: (holder: unknown, part: unknown, context: Context) => {
        const [list, search]: readonly unknown[] = [toValue(holder), toValue(part)];
        readCosts(context).addSteps(measureSearch(list, search));
        if (Array.isArray(list)) return list.includes(search);
        const isSearch = typeof search === "string" || typeof search === "number";
        return typeof list === "string" && isSearch && list.includes(String(search));
      },
    },
    outputEscape(this: { readonly context: object }, value: unknown) {
      const text = escapeText(readText(value).toWellFormed());
      readCosts(this.context).addCharacters(text.length);
      return text;
    },
  });
  for (const name of Object.keys(engine.tags)) {
    if (!tagNames.includes(name)) delete engine.tags[name];
  }
  for (const name of Object.keys(engine.filters)) engine.unregisterFilter(name);
  const filters = listFilters((context) => readCosts(context).addSteps);
  for (const [name, filter] of Object.entries(filters)) engine.registerFilter(name, filter);
  engine.registerTag("store_buttons", { render: (_, emitter) => emitter.write(mark) });
  return engine;
}
