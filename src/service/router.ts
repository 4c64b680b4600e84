import { idParameter, listMethods, type Endpoint } from "../contract/endpoint.ts";
import { apiPrefix } from "../contract/index.ts";
import type { UntypedHandler } from "./handler.ts";

/** Finds the endpoint for a request's method and path. */

export type Route = {
  readonly endpoint: Endpoint;
  readonly handler: UntypedHandler;
};

/** The endpoints at an address, by method, and the id in its path. */
export type PathMatch = {
  readonly routes: ReadonlyMap<string, Route>;
  readonly id: string | undefined;
};

export type FoundRoute = Pick<PathMatch, "id"> & { readonly route: Route };

/** Finds every pattern that matches an address, the most exact first. */
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

/** The route for a method, from the most exact pattern that has one. */
export function findRoute(matches: readonly PathMatch[], method: string): FoundRoute | undefined {
  for (const { routes, id } of matches) {
    const route = routes.get(method);
    if (route !== undefined) return { route, id };
  }
  return undefined;
}

type Pattern = Pick<PathMatch, "id"> & { readonly pattern: string };

/** The path itself, and the path with a parameter as its last or second to last part. */
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

/** The path of a whole address, or of one that starts with its path. */
function cutPath(url: string): string {
  const [, path = ""] = /^(?:\w+:\/\/[^/?#]*)?([^?#]*)/.exec(url) ?? [];
  return path;
}

/** Invalid percent-encoding matches no endpoint. */
function decode(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
