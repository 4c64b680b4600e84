import { idParameter, listMethods, type Endpoint } from "../contract/endpoint.ts";
import { apiPrefix } from "../contract/index.ts";
import type { UntypedHandler } from "./handler.ts";

/** Finds the endpoint for a request's method and path. */

export type Route = {
  readonly endpoint: Endpoint;
  readonly handler: UntypedHandler;
};

/** The endpoints of a path pattern, by method, and the id in the requested path. */
export type PathMatch = {
  readonly routes: ReadonlyMap<string, Route>;
  readonly id: string | undefined;
};

export type FoundRoute = Pick<PathMatch, "id"> & { readonly route: Route };

/** Finds every pattern that matches a URL, the most specific first. */
export type MatchPath = (url: string) => readonly PathMatch[];

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

/** Finds the route for a method, in the most specific pattern that supports the method. */
export function findRoute(matches: readonly PathMatch[], method: string): FoundRoute | undefined {
  for (const { routes, id } of matches) {
    const route = routes.get(method);
    if (route !== undefined) return { route, id };
  }
  return undefined;
}

type Pattern = Pick<PathMatch, "id"> & { readonly pattern: string };

/** Lists the path itself, and patterns where its last or second to last segment is a parameter. */
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

/** Reads the path. `/links/` and `/links.json` are other spellings of `/links`. */
function readPath(url: string): string {
  const path = decode(cutPath(url));
  return dropEnding(path.endsWith("/") ? path.slice(0, -1) : path);
}

function dropEnding(path: string): string {
  return path.endsWith(".json") ? path.slice(0, -".json".length) : path;
}

/** Returns the path of a complete URL, or of one without scheme and host. */
function cutPath(url: string): string {
  const [, path = ""] = /^(?:\w+:\/\/[^/?#]*)?([^?#]*)/.exec(url) ?? [];
  return path;
}

/** Decodes a path. Invalid percent-encoding matches no endpoint. */
function decode(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
