import { findAddressBudget, type Endpoint } from "../../../src/contract/endpoint.ts";
import type { JsonObject } from "../../../src/contract/json.ts";
import { messages } from "../../../src/contract/messages.ts";
import { listConditions } from "./parameters.ts";
import { refer } from "./schemas.ts";

/** The errors that an endpoint returns, by status. */
export function describeErrors(endpoint: Endpoint): Readonly<Record<string, JsonObject>> {
  const { body, list, selects, params, query, effect, ours, auth } = endpoint;
  const { budget, link_scope, may_miss } = endpoint;
  const isLimited = (budget ?? findAddressBudget(endpoint)) !== undefined;
  const names: readonly (readonly [boolean, string])[] = [
    [body !== undefined || list !== undefined || selects !== undefined, "BadRequest"],
    [true, auth === "none" ? "ClientKeyRefused" : "Unauthorized"],
    [[params, link_scope, may_miss].some((part) => part !== undefined), "NotFound"],
    [listConditions(endpoint).length > 0, "PreconditionFailed"],
    [body !== undefined, "BodyTooLarge"],
    [true, "AddressTooLong"],
    [
      [body, list, query, ours].some((part) => part !== undefined) || effect === "write",
      endpoint.feature === "page_templates"
        ? "TemplateInvalid"
        : endpoint.validation_key === "errors"
          ? "ShortLinkInvalid"
          : "Invalid",
    ],
    [isLimited, "RateLimited"],
    [true, "ServerError"],
    [true, "Overloaded"],
  ];
  return Object.fromEntries(
    names
      .filter(([is]) => is)
      .map(([, name]) => [statuses[name] ?? "", { $ref: `#/components/responses/${name}` }]),
  );
}

export const statuses: Readonly<Record<string, string>> = {
  BadRequest: "400",
  Unauthorized: "401",
  ClientKeyRefused: "401",
  NotFound: "404",
  PreconditionFailed: "412",
  BodyTooLarge: "413",
  AddressTooLong: "414",
  Invalid: "422",
  TemplateInvalid: "422",
  ShortLinkInvalid: "422",
  RateLimited: "429",
  ServerError: "500",
  Overloaded: "503",
};

export const errorSchemas: Readonly<Record<string, JsonObject>> = {
  Error: {
    type: "object",
    required: ["error"],
    properties: {
      error: { type: "string", description: "One sentence that lists every problem." },
    },
  },
  Errors: {
    type: "object",
    required: ["errors"],
    properties: {
      errors: { type: "string", description: "One sentence that lists every problem." },
    },
  },
  TemplateError: {
    type: "object",
    required: ["error"],
    properties: {
      error: { type: "string", description: "One sentence that lists every problem." },
      problems: {
        type: "array",
        description: "Each problem and where it is. Lines and columns count from 1.",
        items: {
          type: "object",
          required: ["message"],
          properties: {
            field: { type: "string" },
            line: { type: "integer", minimum: 1 },
            column: { type: "integer", minimum: 1 },
            message: { type: "string" },
          },
        },
      },
    },
  },
};

const error = (...sentences: readonly string[]) => describe({ $ref: refer("Error") }, sentences);

function describe(of: JsonObject, sentences: readonly string[], key = "error"): JsonObject {
  const examples = sentences.map((sentence, index) => [
    `example_${index + 1}`,
    { value: { [key]: sentence } },
  ]);
  return { "application/json": { schema: of, examples: Object.fromEntries(examples) } };
}

const retryAfter = {
  "Retry-After": {
    description: "Seconds to wait. Left out if it is unknown whether the write succeeded.",
    schema: { type: "string", pattern: "^[0-9]+$" },
  },
} as const;

/** The responses that endpoints share, each with examples of its body. */
export const errorResponses: Readonly<Record<string, JsonObject>> = {
  BadRequest: {
    description: "The body is not JSON, a parameter is missing, or a number is not positive.",
    content: error(
      messages.body_invalid,
      messages.content_type,
      messages.parameter_missing("ios_app"),
      messages.not_positive("page"),
    ),
  },
  Unauthorized: {
    description:
      "The key is missing or invalid, or the request needs a scope, a role or a plan " +
      "that the key lacks.",
    content: error(
      messages.key_missing,
      messages.key_invalid,
      messages.account_suspended,
      messages.scope_missing("links.index"),
      messages.role_required("manager"),
      messages.plan_required,
    ),
  },
  ClientKeyRefused: {
    description: "A client key was sent. The endpoint needs no key and ignores other keys.",
    content: error(messages.client_key_here),
  },
  NotFound: {
    description: "The project has no record with this id.",
    content: error(
      messages.link_not_found,
      messages.ios_app_not_found,
      messages.android_app_not_found,
    ),
  },
  PreconditionFailed: {
    description: "The record has changed or already exists, so nothing was written.",
    content: error(messages.changed_since, messages.already_exists),
    "x-waypost-own": true,
  },
  BodyTooLarge: {
    description: "The body is too large.",
    content: error(messages.body_too_large, messages.keyless_too_large),
  },
  AddressTooLong: {
    description: "The address of the request is too long.",
    content: error(messages.address_too_long),
  },
  Invalid: {
    description: "A field is invalid. `error` lists every problem.",
    content: error(
      "Bundle can't be blank and Team is the wrong length (should be 10 characters)",
      "Path has already been taken",
    ),
  },
  TemplateInvalid: {
    description: "The template is invalid. `problems` shows where each problem is.",
    content: {
      "application/json": {
        schema: { $ref: refer("TemplateError") },
        example: {
          error: "Body line 2, column 1: <script> is not allowed: pages cannot run scripts",
          problems: [
            {
              field: "body",
              line: 2,
              column: 1,
              message: "<script> is not allowed: pages cannot run scripts.",
            },
          ],
        },
      },
    },
  },
  ShortLinkInvalid: {
    description: "A field is invalid. The problems are in `errors` or, for some, in `error`.",
    content: describe(
      { anyOf: [{ $ref: refer("Errors") }, { $ref: refer("Error") }] },
      ["Url is not the address of a link"],
      "errors",
    ),
  },
  RateLimited: {
    description: "The rate limit is reached. The response has no `Retry-After`.",
    content: error(messages.rate_limited),
  },
  ServerError: {
    description: "Something failed on the server.",
    content: error(messages.internal("f3k9")),
  },
  Overloaded: {
    description: "The request took too long, or the server is overloaded.",
    headers: retryAfter,
    content: error(messages.took_too_long, messages.not_begun, messages.outcome_unknown),
  },
};
