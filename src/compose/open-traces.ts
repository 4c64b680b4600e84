import type { Log } from "./log.ts";
import type { Traces } from "../traces/traces.ts";

/** By this name every copy of OpenTelemetry's API finds what the operator has preloaded. */
const known = Symbol.for("opentelemetry.js.api.1");
/** That of the API which is built in: an older one lacks what it may ask for. */
const oldest = "1.9";

/** Spans for the SDK that the operator has preloaded; undefined where there is none. */
export async function openTraces(version: string, log: Log): Promise<Traces | undefined> {
  const preloaded: unknown = Reflect.get(globalThis, known);
  // Most processes are followed by nobody, and need not load what does it.
  if (!isTracing(preloaded)) return undefined;
  const { createTraces, canUse } = await import("../traces/traces.ts");
  if (canUse(preloaded.trace)) return createTraces(version);
  const facts = { preloaded: preloaded.version, oldest };
  log.warn(facts, "the preloaded OpenTelemetry API is too old, so there are no spans");
  return undefined;
}

type Preloaded = { readonly version: unknown; readonly trace: unknown };

function isTracing(preloaded: unknown): preloaded is Preloaded {
  return typeof preloaded === "object" && preloaded !== null && "trace" in preloaded;
}
