import type { CarriedRequest } from "./api-message.ts";
import type { Endpoint } from "./endpoint.ts";

/** How whoever measures is told of work. Where nobody does, these functions are left out. */

/** Work that has begun: told once how it ended, in a way that no stranger has chosen. */
export type Watched<Outcome> = {
  /** Does the work, or a part of it, so that what it leads to is known to belong to it. */
  readonly run: <Result>(work: () => Result) => Result;
  readonly end: (outcome: Outcome) => void;
};

/** One request of the API, by its endpoint, where one has its method and path; ends by a status. */
export type WatchRequest = (
  endpoint: Endpoint | undefined,
  request: CarriedRequest,
) => Watched<number>;

/** One call of a tool, by its name; undefined for a name that no tool has. */
export type WatchCall = (tool: string | undefined, asked?: AskedCall) => Watched<string>;

/** What came with a call. */
export type AskedCall = {
  /** As its client sent it: anything may be in it. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  readonly requestId?: string | undefined;
};

/** One HTTP request that is not the API's: to a host of links, or to MCP; ends by a status. */
export type WatchHttp = (request: AskedHttp) => Watched<number>;

type AskedHttp = {
  readonly method?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
};
