import { Context, defaultOperators, Drop, Liquid, toValue, type Template } from "liquidjs";
import { escapeText } from "../text/escape-html.ts";
import { mark } from "./clean-html.ts";
import { listFilters, measure, measureSearch, readText, type AddCost } from "./liquid-filters.ts";
import { findShapeFaults, hasPlace } from "./liquid-shape.ts";
import type { Fault } from "./page-input.ts";

/**
 * Liquid as templates have it: liquidjs for its language, with the tags and filters of a list. No
 * tag reads a file, no filter an expression, and no output goes unescaped. It runs in this process,
 * where nothing could kill it, so what it costs is bounded three times: every template is measured
 * before it comes here (`check-liquid.ts`), what would take liquidjs for ever is refused by its
 * shape, and a running template's steps are counted: each piece that is carried out, each value
 * that is read, by its length, and each filter and search.
 */

export const tagNames: readonly string[] =
  "assign break case comment continue for if store_buttons unless".split(" ");

/** What one page may cost: steps of liquidjs, and texts by their length. */
const mostSteps = 10_000;
/** Of what is put out, escaped. */
const mostCharacters = 128 * 1024;
/** A page that costs less is never measured by the clock, and so is the same on every machine. */
const stepsPerClockCheck = 256;

/** The template asks for more than a page may cost. */
export class LiquidStopped extends Error {
  override readonly name = "LiquidStopped";
}

/** The template has a shape that liquidjs would take and no page may have. */
class LiquidRefused extends Error {
  override readonly name = "LiquidRefused";
  readonly offset: number;

  constructor({ message, offset }: Fault) {
    super(message);
    this.offset = offset;
  }
}

export const engine = createEngine();

type Reading = { readonly templates: Template[]; readonly faults: readonly Fault[] };

/** Parses a template, with all that is wrong with its shape; what cannot be parsed is thrown. */
export function readLiquid(source: string): Reading {
  // Nothing but the mark of the buttons may look like it.
  const templates = engine.parse(source.toWellFormed());
  return { templates, faults: findShapeFaults(templates) };
}

/** Parses a template, or throws what is wrong with it first. */
export function parseLiquid(source: string): Template[] {
  const { templates, faults } = readLiquid(source);
  if (faults[0] !== undefined) throw new LiquidRefused(faults[0]);
  return templates;
}

/** What liquidjs says of a template that it cannot read or render, and where. */
export function explainLiquid(error: unknown): Fault {
  if (error instanceof LiquidRefused) return { offset: error.offset, message: error.message };
  if (!(error instanceof Error)) return { offset: 0, message: "Liquid cannot parse this." };
  const token: unknown = "token" in error ? error.token : undefined;
  const said = error.message.replace(/, line:\d+, col:\d+$/, "").slice(0, 200);
  const offset = hasPlace(token) ? token.begin : 0;
  return { offset, message: `Liquid error: ${said}.` };
}

/** How long a page may take, by whose clock. */
export type TimeLimit = {
  /** Milliseconds that never jump. */
  readonly monotonic: () => number;
  readonly most_ms: number;
};

/** Throws `LiquidStopped` when the time is over, after the step that is under way. */
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
  // Its Limiter has private parts, which nothing else can have; `check` before every step is all
  // that it is asked.
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

/** What can be asked of `forloop`: liquidjs would call whatever method is named. */
const loopNames = new Set(["first", "index", "index0", "last", "length", "rindex", "rindex0"]);

/** Counts what is read: every value that does not stand in the source comes through here. */
function countReadValues(context: Context, addSteps: AddCost): void {
  const read = context.readProperty.bind(context);
  context.readProperty = (holder, key) => {
    const isName = typeof key === "string" || typeof key === "number";
    // A list as a name would be joined to one first.
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
    // `findShapeFaults` refuses every other filter, and tells of more than the first.
    strictFilters: false,
    lenientIf: true,
    ownPropertyOnly: true,
    // Nothing that could be included, and no way to the file system.
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
