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

export function createRouter<Target>(
  entries: readonly (readonly [Entry, Target])[],
): Router<Target> {
  const targets = new Map<string, Target>();
  const allowed = new Map<string, readonly string[]>();
  for (const [entry, target] of entries) {
    const path = dropEnding(apiPrefix + entry.path);
    const methods = listMethods(entry);
    for (const method of methods) targets.set(`${method} ${path}`, target);
    allowed.set(path, [...(allowed.get(path) ?? []), ...methods]);
  }

  return {
    find: (method, url) => {
      for (const { pattern, params } of listPatterns(readPath(url))) {
        const target = targets.get(`${method} ${pattern}`);
        if (target !== undefined) return { target, params };
      }
      return undefined;
    },
    listAllowed: (url) => {
      const patterns = listPatterns(readPath(url));
      const methods = new Set(patterns.flatMap(({ pattern }) => allowed.get(pattern) ?? []));
      return methods.size === 0 ? [] : [...methods, "OPTIONS"];
    },
  };
}

type Pattern = Pick<Route<unknown>, "params"> & { readonly pattern: string };

/** The path, and what it is with a parameter as its last part, or as the one before that. */
function listPatterns(path: string): readonly Pattern[] {
  // No id contains the parameter's own name.
  if (path.includes(idParameter)) return [];
  const patterns: Pattern[] = [{ pattern: path, params: {} }];
  for (const end of [path.length, path.lastIndexOf("/")]) {
    const slash = path.lastIndexOf("/", end - 1);
    const id = path.slice(slash + 1, end);
    if (slash < 0 || id === "") continue;
    const pattern = path.slice(0, slash + 1) + idParameter + path.slice(end);
    patterns.push({ pattern, params: { id } });
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
