import type { StrangeWorld } from "./strange-world.ts";

/** A deployment that knows no filters of ours, and takes long. */

/** As an API that takes no notice of parameters that it does not know. */
export function ignoreOwn({ proxy }: StrangeWorld): void {
  proxy.setTurn((request) => {
    const [path = "", query] = request.path.split("?");
    if (query === undefined) return request;
    const known = [...new URLSearchParams(query)].filter(([name]) => !name.startsWith("f["));
    return { ...request, path: `${path}?${new URLSearchParams(known).toString()}` };
  });
}

/** Pages of four links, each of which takes six seconds. */
export function beSlow({ proxy, advance }: StrangeWorld): void {
  proxy.setAlter((request, reply) => {
    if (request.path.startsWith("/api/v1/links?")) advance(6000);
    return reply;
  });
  proxy.setTurn((request) => ({
    ...request,
    path: request.path.replace(/&?f%5B[^&]*/g, "").replace("limit=100", "limit=4"),
  }));
}
