import { LiquidRefused } from "./liquid.ts";
import { hasPlace, type Fault } from "./liquid-shape.ts";

/** What liquidjs says of a template that it cannot read or render, and where. */
export function explainLiquid(error: unknown): Fault {
  if (error instanceof LiquidRefused) return { offset: error.begin, message: error.message };
  if (!(error instanceof Error)) return { offset: 0, message: "Liquid cannot read this." };
  const token: unknown = "token" in error ? error.token : undefined;
  const said = error.message.replace(/, line:\d+, col:\d+$/, "").slice(0, 200);
  const offset = hasPlace(token) ? token.begin : 0;
  return { offset, message: `Liquid cannot read this: ${said}.` };
}
