import type { Endpoint } from "../contract/endpoint.ts";
import { apiPrefix } from "../contract/index.ts";

/** Which endpoint a request is for, by its method and path. */

export type Route<Target> = {
  readonly target: Target;
  readonly params: Readonly<Record<string, string>>;
};

type Entry = Pick<Endpoint, "method" | "also" | "path">;

/** Paths have at most one parameter, `:id`, so a request can only be for two patterns. */
const parameter = ":id";

export function createRouter<Target>(
  entries: readonly (readonly [Entry, Target])[],
): (method: string, url: string) => Route<Target> | undefined {
  const known = new Map<string, Target>();
  for (const [{ method, also, path }, target] of entries) {
    for (const name of also === undefined ? [method] : [method, also]) {
      known.set(`${name} ${apiPrefix}${path}`, target);
    }
  }

  return (method, url) => {
    const path = decode(readPath(url));
    const exact = known.get(`${method} ${path}`);
    if (exact !== undefined) return { target: exact, params: {} };
    for (const [pattern, id] of listPatterns(path)) {
      const target = known.get(`${method} ${pattern}`);
      if (target !== undefined) return { target, params: { id } };
    }
    return undefined;
  };
}

/** The path with one of its parts as the parameter: the third or the fourth after the prefix. */
function* listPatterns(path: string): Generator<readonly [pattern: string, id: string]> {
  const parts = path.split("/");
  for (let index = parts.length - 1; index > 2; index -= 1) {
    const id = parts[index] ?? "";
    if (id === "" || id === parameter) continue;
    yield [parts.with(index, parameter).join("/"), id];
  }
}

function readPath(url: string): string {
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
