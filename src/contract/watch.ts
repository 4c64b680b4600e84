import type { CarriedRequest } from "./api-message.ts";
import type { Endpoint } from "./endpoint.ts";

/** How whoever measures is told of work. Where nobody does, these functions are left out. */

/** Work that has begun: told once how it ended, in a way that no stranger has chosen. */
type Watched<Outcome> = { readonly end: (outcome: Outcome) => void };

/** One request of the API, by its endpoint, where one has its method and path; ends by a status. */
export type WatchRequest = (
  endpoint: Endpoint | undefined,
  request: CarriedRequest,
) => Watched<number>;

/** One call of a tool, by its name; undefined for a name that no tool has. */
export type WatchCall = (tool: string | undefined) => Watched<string>;

/** One request to a host of links; ends by a status. */
export type WatchVisit = () => Watched<number>;
