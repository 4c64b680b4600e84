import * as z from "zod";
import { asRead } from "./endpoint-defaults.ts";
import type { Endpoint } from "./endpoint.ts";

const paths = z.looseObject({
  paths: z.array(z.string()),
  /** Whether these are all of those links' paths and short paths. */
  are_all: z.boolean(),
});

/** What association files keep in the browser. The specification has no such endpoint. */
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
