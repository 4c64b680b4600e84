import {
  createContextKey,
  propagation,
  type Context,
  type TextMapGetter,
  type TextMapSetter,
} from "@opentelemetry/api";

/**
 * W3C Trace Context, and nothing else that a stranger may send along: baggage would travel on to a
 * deployment elsewhere.
 */

type Given = Readonly<Record<string, unknown>>;

const names = ["traceparent", "tracestate"];

const getter: TextMapGetter<Given> = {
  keys: () => names,
  get: (carrier, name) => {
    const value = names.includes(name) ? carrier[name] : undefined;
    return typeof value === "string" ? value : undefined;
  },
};

const setter: TextMapSetter<Record<string, string>> = {
  set: (carrier, name, value) => {
    if (names.includes(name)) carrier[name] = value;
  },
};

/** The same context where nothing is told, or nothing that can be read. */
export function readTrace(here: Context, given: Given): Context {
  return "traceparent" in given ? propagation.extract(here, given, getter) : here;
}

export function writeTrace(from: Context): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  propagation.inject(from, headers, setter);
  return headers;
}

/** By this name the SDK and its instrumentations know that somebody else traces the work. */
const suppressed = createContextKey("OpenTelemetry SDK Context Key SUPPRESS_TRACING");

/** Else an instrumentation of HTTP would write the same headers a second time. */
export function suppressFurther(from: Context): Context {
  return from.setValue(suppressed, true);
}
