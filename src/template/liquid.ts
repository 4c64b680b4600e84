import { Context, defaultOperators, Drop, Liquid, toValue, type Template } from "liquidjs";
import { escapeText } from "../text/escape-html.ts";
import { mark } from "./clean-html.ts";
import { listFilters, measure, measureSearch, readText, type Spend } from "./liquid-filters.ts";
import { findShapeFaults, type Fault } from "./liquid-shape.ts";

/**
 * Liquid as templates have it: liquidjs for its language, with the tags and filters of a list. No
 * tag reads a file, no filter an expression, and no output goes unescaped. There is no worker to
 * be killed behind it. Every template was measured before it comes here (`check-liquid.ts`), what
 * liquidjs could be caught in is refused by its shape, and what is left to a running template is
 * paid for: each piece that is carried out, each value that is read, by its length, because
 * whoever reads it does no more than go through it, and each filter and search.
 */

export const tagNames = [
  "assign",
  "break",
  "case",
  "comment",
  "continue",
  "for",
  "if",
  "store_buttons",
  "unless",
] as const;

/** What one page may cost: steps of liquidjs, and texts by their length. */
const mostWork = 10_000;
/** Of what is put out, escaped. */
const mostCharacters = 128 * 1024;
/** A page that costs less is never measured by the clock, and so is the same on every machine. */
const stepsPerLook = 256;

/** The template asks for more than a page may cost. */
export class LiquidStopped extends Error {
  override readonly name = "LiquidStopped";
}

/** What liquidjs would take, and a page must not ask of it. */
export class LiquidRefused extends Error {
  override readonly name = "LiquidRefused";
  /** Where it begins. */
  readonly begin: number;

  constructor(message: string, begin: number) {
    super(message);
    this.begin = begin;
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
  if (faults[0] !== undefined) throw new LiquidRefused(faults[0].message, faults[0].offset);
  return templates;
}

/** How long a page may take, by whose clock. */
export type TimeLimit = {
  /** Milliseconds that never jump. */
  readonly monotonic: () => number;
  readonly most_ms: number;
};

/** Stops when the time is over, as soon as the step is done that it is at. */
export function renderLiquid(
  templates: Template[],
  variables: object,
  time: TimeLimit | undefined,
): string {
  const spend = createSpend(mostWork, "The template takes too many steps.", time);
  const write = createSpend(mostCharacters, "The page gets too long.");
  // Its Limiter has private parts, which nothing else can have; `check` before every step is all
  // that it is asked.
  const renderLimit = { use: () => undefined, check: () => spend(1) } as unknown as Limiter;
  const context = new Context(
    variables,
    engine.options,
    { sync: true },
    { renderLimit, liquid: engine },
  );
  payForReading(context, spend);
  meters.set(context, { spend, write });
  return String(engine.renderSync(templates, context));
}

type Limiter = NonNullable<NonNullable<ConstructorParameters<typeof Context>[3]>["renderLimit"]>;

type Meter = { readonly spend: Spend; readonly write: Spend };
const meters = new WeakMap<object, Meter>();

function readMeter(context: object): Meter {
  const meter = meters.get(context);
  if (meter === undefined) throw new LiquidStopped("The template is not rendered by renderLiquid.");
  return meter;
}

function createSpend(most: number, message: string, time?: TimeLimit): Spend {
  let spent = 0;
  let nextLook = stepsPerLook;
  const isOver = time && startLimit(time);
  return (work) => {
    spent += work;
    if (spent > most) throw new LiquidStopped(message);
    if (isOver === undefined || spent < nextLook) return;
    nextLook = spent + stepsPerLook;
    if (isOver()) throw new LiquidStopped("The template takes too long.");
  };
}

function startLimit({ monotonic, most_ms }: TimeLimit): () => boolean {
  const end = monotonic() + most_ms;
  return () => monotonic() > end;
}

/** What can be asked of `forloop`: liquidjs would call whatever method is named. */
const loopNames = new Set(["first", "index", "index0", "last", "length", "rindex", "rindex0"]);

/** Every value comes to whoever uses it through here, but for those that stand in the source. */
function payForReading(context: Context, spend: Spend): void {
  const read = context.readProperty.bind(context);
  context.readProperty = (holder, key) => {
    const isName = typeof key === "string" || typeof key === "number";
    // A list as a name would be joined to one first.
    if (!isName || (holder instanceof Drop && !loopNames.has(String(key)))) {
      spend(1);
      return undefined;
    }
    const value: unknown = read(holder, key);
    spend(1 + measure(value) / 64);
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
        readMeter(context).spend(measureSearch(list, search));
        if (Array.isArray(list)) return list.includes(search);
        const isSearch = typeof search === "string" || typeof search === "number";
        return typeof list === "string" && isSearch && list.includes(String(search));
      },
    },
    outputEscape(this: { readonly context: object }, value: unknown) {
      const text = escapeText(readText(value).toWellFormed());
      readMeter(this.context).write(text.length);
      return text;
    },
  });
  for (const name of Object.keys(engine.tags)) {
    if (!tagNames.some((known) => known === name)) delete engine.tags[name];
  }
  for (const name of Object.keys(engine.filters)) engine.unregisterFilter(name);
  const filters = listFilters((context) => readMeter(context).spend);
  for (const [name, filter] of Object.entries(filters)) engine.registerFilter(name, filter);
  engine.registerTag("store_buttons", { render: (_, emitter) => emitter.write(mark) });
  return engine;
}
