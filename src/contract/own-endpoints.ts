import * as z from "zod";
import { asRead, type Endpoint } from "./endpoint.ts";

/** The endpoint for the OpenAPI document. Only Waypost has it. */
export const apiDescription = {
  show: {
    ...asRead,
    path: "/openapi.json",
    documented: false,
    hidden: true,
    tool: "describe_api",
    title: "Describe the API",
    summary: "The API as an OpenAPI document. Needs no key.",
    auth: "none",
    // Browser-based editors and viewers load the document from other origins.
    cross_origin: true,
    response: z.looseObject({ openapi: z.string() }),
  },
} as const satisfies Record<string, Endpoint>;

const paths = z.looseObject({
  paths: z.array(z.string()),
  /** False if some of the project's paths did not fit into the association files. */
  are_all: z.boolean(),
});

/**
 * Lists the paths that the association files exclude, so that those links open in the browser. Only
 * Waypost has this endpoint.
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
