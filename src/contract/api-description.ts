import * as z from "zod";
import { asRead } from "./endpoint-defaults.ts";
import type { Endpoint } from "./endpoint.ts";

/** The description of the API itself. The specification has no such endpoint. */
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
    // Editors and viewers of such documents run in browsers.
    cross_origin: true,
    response: z.looseObject({ openapi: z.string() }),
  },
} as const satisfies Record<string, Endpoint>;
