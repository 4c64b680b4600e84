import { idParameter, listMethods, type Endpoint } from "../contract/endpoint.ts";
import { apiPrefix } from "../contract/index.ts";

/** Which endpoint a request is for, by its method and path. */

type Route<Target> = {
  readonly target: Target;
  readonly params: Readonly<Record<string, string>>;
};

export type Router<Target> = {
  readonly find: (method: string, url: string) => Route<Target> | undefined;
  /** The methods that the path of an address takes; none where no endpoint has it. */
  readonly listAllowed: (url: string) => readonly string[];
};

type Entry = Pick<Endpoint, "method" | "path">;

/** Of one method. */
type Routes<Target> = {
  readonly exact: Map<string, Target>;
  /** By what stands before the parameter, then by what stands after it. */
  readonly withId: Map<string, Map<string, Target>>;
};

export function createRouter<Target>(
  entries: readonly (readonly [Entry, Target])[],
): Router<Target> {
  const known = new Map<string, Routes<Target>>();
  const allowed = new Map<string, readonly string[]>();
  for (const [entry, target] of entries) {
    const path = apiPrefix + entry.path;
    const methods = listMethods(entry);
    for (const method of methods) {
      const routes = known.get(method) ?? { exact: new Map(), withId: new Map() };
      known.set(method, routes);
      addRoute(routes, path, target);
    }
    allowed.set(path, [...(allowed.get(path) ?? []), ...methods]);
  }

  return {
    find: (method, url) => {
      const routes = known.get(method);
      return routes && findRoute(routes, readPath(url));
    },
    listAllowed: (url) => {
      const path = readPath(url);
      const patterns = [path, ...listPatterns(path).map(({ pattern }) => pattern)];
      const methods = new Set(patterns.flatMap((pattern) => allowed.get(pattern) ?? []));
      return methods.size === 0 ? [] : [...methods, "OPTIONS"];
    },
  };
}

function addRoute<Target>({ exact, withId }: Routes<Target>, path: string, target: Target): void {
  const [before = "", after] = path.split(idParameter);
  if (after === undefined) {
    exact.set(path, target);
    return;
  }
  const routes = withId.get(before) ?? new Map<string, Target>();
  withId.set(before, routes.set(after, target));
}

/** Most requests come by here: nothing is made but the parts of the path. */
function findRoute<Target>(
  { exact, withId }: Routes<Target>,
  path: string,
): Route<Target> | undefined {
  const target = exact.get(path);
  if (target !== undefined) return { target, params: {} };
  const last = path.lastIndexOf("/");
  return (
    findWithId(withId, path, last, path.length) ??
    findWithId(withId, path, path.lastIndexOf("/", last - 1), last)
  );
}

function findWithId<Target>(
  withId: Routes<Target>["withId"],
  path: string,
  slash: number,
  end: number,
): Route<Target> | undefined {
  const target = withId.get(path.slice(0, slash + 1))?.get(path.slice(end));
  const id = path.slice(slash + 1, end);
  return target === undefined || id === "" || id === idParameter
    ? undefined
    : { target, params: { id } };
}

type Pattern = { readonly pattern: string; readonly id: string };

/** What the path may name with a parameter in it: its last part, or the one before that. */
function listPatterns(path: string): readonly Pattern[] {
  const last = path.lastIndexOf("/");
  const patterns: Pattern[] = [];
  for (const end of [path.length, last]) {
    const slash = path.lastIndexOf("/", end - 1);
    const id = path.slice(slash + 1, end);
    if (slash < 0 || id === "" || id === idParameter) continue;
    patterns.push({ pattern: path.slice(0, slash + 1) + idParameter + path.slice(end), id });
  }
  return patterns;
}

/** `/links/` and `/links.json` are other spellings of `/links`. */
function readPath(url: string): string {
  const path = decode(cutPath(url));
  const open = path.endsWith("/") ? path.slice(0, -1) : path;
  return open.endsWith(".json") ? open.slice(0, -".json".length) : open;
}

function cutPath(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.slice(start).search(/[?#]/);
  if (start < 0) return "/";
  return end < 0 ? url.slice(start) : url.slice(start, start + end);
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
