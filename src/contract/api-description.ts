import * as z from "zod";
import { asRead } from "./endpoint-defaults.ts";
import type { Endpoint } from "./endpoint.ts";

/** The endpoint that returns the API as an OpenAPI document. Only Waypost has it. */
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
