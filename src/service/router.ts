import { idParameter, type Endpoint } from "../contract/endpoint.ts";
import { apiPrefix } from "../contract/index.ts";

/** Which endpoint a request is for, by its method and path. */

export type Route<Target> = {
  readonly target: Target;
  readonly params: Readonly<Record<string, string>>;
};

type Entry = Pick<Endpoint, "method" | "also" | "path">;

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
    // The last part may be the parameter, or the one before it.
    const last = path.lastIndexOf("/");
    return (
      find(method, path, last, path.length) ??
      find(method, path, path.lastIndexOf("/", last - 1), last)
    );
  };

  /** What the path names when what stands between its two places is the parameter. */
  function find(
    method: string,
    path: string,
    slash: number,
    end: number,
  ): Route<Target> | undefined {
    const id = path.slice(slash + 1, end);
    if (slash < 0 || id === "" || id === idParameter) return undefined;
    const pattern = path.slice(0, slash + 1) + idParameter + path.slice(end);
    const target = known.get(`${method} ${pattern}`);
    return target && { target, params: { id } };
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
