import * as z from "zod";
import { asRead } from "./endpoint-defaults.ts";
import type { Endpoint } from "./endpoint.ts";

const paths = z.looseObject({
  paths: z.array(z.string()),
  /** False if the project has more such paths than the association files can list. */
  are_all: z.boolean(),
});

/**
 * The endpoint that lists the paths that association files keep in the browser. Only Waypost has
 * it.
 */
export const browserPaths = {
  index: {
    ...asRead,
    path: "/browser_paths",
    documented: false,
    ours: true,
    hidden: true,
    tool: "browser_paths",
    title: "Paths that stay in the browser",
    summary: "The paths of links without an app, as the association files list them.",
    auth: "project",
    scope: "links.index",
    response: z.looseObject({ browser_paths: paths }),
  },
} as const satisfies Record<string, Endpoint>;
