import type { Endpoint } from "../contract/endpoint.ts";
import { messages } from "../contract/messages.ts";
import { Problem } from "../contract/problem.ts";
import { quote } from "../text/show-hidden.ts";
import { keyParameter } from "./authenticate.ts";

/** More are of no use to a person. */
const mostNamed = 20;

/**
 * What an endpoint of our own does not know in its query: ignored, it would answer as if it had
 * been heeded. The specification's lists ignore it, as it says.
 */
export function refuseUnknown(
  query: URLSearchParams,
  { query: schema, selects }: Endpoint,
  ignoredFilters: readonly string[],
): void {
  const known = Object.keys(schema?.shape ?? {});
  const strays = [...query.keys()].filter(
    (name) =>
      name !== keyParameter && !known.includes(name) && !(selects !== undefined && isFilter(name)),
  );
  const filters = ignoredFilters.map((name) => (/^q$|\[/.test(name) ? name : `q[${name}]`));
  const names = [...new Set([...strays, ...filters])].slice(0, mostNamed);
  if (names.length === 0) return;
  const shown = names.map((name) => quote(name).slice(1, -1)).join(", ");
  const kinds = selects === undefined ? [] : ["q[field_condition]", "f[field_condition]"];
  throw new Problem(422, messages.query_unknown(shown, [...known, ...kinds].join(", ")));
}

/** Nothing here is sorted by what stands in the place of a sort. */
function isFilter(name: string): boolean {
  return /^[qf]\[/.test(name) && !name.startsWith("q[s]");
}
