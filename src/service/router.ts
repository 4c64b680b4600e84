import { idParameter, listMethods, type Endpoint } from "../contract/endpoint.ts";
import { apiPrefix } from "../contract/index.ts";
import type { UntypedHandler } from "./handler.ts";

/** Which endpoint a request is for, by its method and path. */

export type Route = {
  readonly endpoint: Endpoint;
  readonly handler: UntypedHandler;
};

/** What an address is the path of: an endpoint for each method, and the id in the path. */
export type Matched = {
  readonly routes: ReadonlyMap<string, Route>;
  readonly id: string | undefined;
};

/** What a request is for. */
export type FoundRoute = Pick<Matched, "id"> & { readonly route: Route };

/** Finds every pattern that an address matches, the most exact first. */
export type MatchPath = (url: string) => readonly Matched[];

export function createRouter(all: readonly Route[]): MatchPath {
  const byPattern = new Map<string, Map<string, Route>>();
  for (const route of all) {
    const path = dropEnding(apiPrefix + route.endpoint.path);
    const routes = byPattern.get(path) ?? new Map<string, Route>();
    byPattern.set(path, routes);
    for (const method of listMethods(route.endpoint)) routes.set(method, route);
  }
  return (url) =>
    listPatterns(readPath(url)).flatMap(({ pattern, id }) => {
      const routes = byPattern.get(pattern);
      return routes === undefined ? [] : [{ routes, id }];
    });
}

/** The route for a method, of the most exact pattern that has one. */
export function findRoute(matches: readonly Matched[], method: string): FoundRoute | undefined {
  for (const { routes, id } of matches) {
    const route = routes.get(method);
    if (route !== undefined) return { route, id };
  }
  return undefined;
}

type Pattern = Pick<Matched, "id"> & { readonly pattern: string };

/** The path, and what it is with a parameter as its last part, or as the one before that. */
function listPatterns(path: string): readonly Pattern[] {
  // No id contains the parameter's own name.
  if (path.includes(idParameter)) return [];
  const patterns: Pattern[] = [{ pattern: path, id: undefined }];
  for (const end of [path.length, path.lastIndexOf("/")]) {
    const slash = path.lastIndexOf("/", end - 1);
    const id = path.slice(slash + 1, end);
    if (slash < 0 || id === "") continue;
    patterns.push({ pattern: path.slice(0, slash + 1) + idParameter + path.slice(end), id });
  }
  return patterns;
}

/** `/links/` and `/links.json` are other spellings of `/links`. */
function readPath(url: string): string {
  const path = decode(cutPath(url));
  return dropEnding(path.endsWith("/") ? path.slice(0, -1) : path);
}

function dropEnding(path: string): string {
  return path.endsWith(".json") ? path.slice(0, -".json".length) : path;
}

/** Of a whole address, or of one that begins with its path. */
function cutPath(url: string): string {
  const [, path = ""] = /^(?:\w+:\/\/[^/?#]*)?([^?#]*)/.exec(url) ?? [];
  return path;
}

/** What is no percent-encoding names no endpoint. */
function decode(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
