import type { Endpoint } from "../../../src/contract/endpoint.ts";
import {
  offeredConditions,
  conditions,
  searchName,
  type FilterFields,
} from "../../../src/contract/filters.ts";
import type { JsonObject } from "../../../src/contract/json.ts";
import { paging } from "../../../src/contract/limits.ts";
import { own, statsNotes } from "./field-notes.ts";

/** The parameters of an endpoint: its path, its query, and the conditions of a write. */
export function describeParameters(endpoint: Endpoint): readonly JsonObject[] {
  const { params, list, selects, query } = endpoint;
  const isStats = selects !== undefined;
  const { filters = {}, own: ours = {} } = list ?? selects ?? {};
  return [
    ...(params === undefined ? [] : [idParameter]),
    ...(list === undefined ? [] : [pageParameter, limitParameter]),
    ...Object.keys(query?.shape ?? {}).map(describeNamed),
    ...(Object.keys(filters).length === 0 ? [] : [describeFilters(filters, !isStats)]),
    ...(Object.keys(ours).length === 0 ? [] : [describeOwnFilters(ours)]),
    ...listConditions(endpoint),
  ];
}

const idParameter = {
  name: "id",
  in: "path",
  required: true,
  description: "The record's UUID, as returned by a list or on creation.",
  schema: { type: "string", format: "uuid" },
} as const;

const pageParameter = {
  name: "page",
  in: "query",
  description: "The page number. A page past the end has no rows.",
  schema: { type: "integer", minimum: 1, default: 1 },
} as const;

const limitParameter = {
  name: "limit",
  in: "query",
  description: `Rows per page. Values above ${paging.max_limit} count as ${paging.max_limit}.`,
  schema: { type: "integer", minimum: 1, default: paging.default_limit },
} as const;

function describeNamed(name: string): JsonObject {
  const { description, ...schema } = statsNotes[name] ?? {};
  return { name, in: "query", description, schema: { type: "string", ...schema } };
}

/** `q[field_condition]`, which OpenAPI describes as an object in brackets. */
function describeFilters(fields: FilterFields, isSorted: boolean): JsonObject {
  const sort = {
    type: ["string", "array"],
    items: { type: "string" },
    description: "The order: a field, then `asc` or `desc`. Send a list to sort by several fields.",
    examples: ["created_at desc"],
  };
  return {
    name: "q",
    in: "query",
    style: "deepObject",
    explode: true,
    description:
      "Filters, written `q[FIELD_CONDITION]=VALUE`; all must match. A list for `in` is written " +
      "`q[FIELD_in][]=VALUE`, once for each value. `q[FIELD_or_FIELD_CONDITION]` matches either " +
      "field, and `_and_` both. Filters on other fields are ignored. " +
      `The fields are ${nameAll(fields)}. The conditions are ${conditions.join(", ")}.` +
      (isSorted
        ? " `q[s]` is the order: a field, then `asc` or `desc`. For several fields, use `q[s][]`."
        : ""),
    schema: {
      type: "object",
      properties: {
        ...(isSorted && { s: sort }),
        ...describeConditions(fields, conditions, values),
      },
      patternProperties: { [matchJoined(fields)]: values },
    },
  };
}

/** Several fields with one condition, such as `name_or_path_cont`. */
function matchJoined(fields: FilterFields): string {
  const field = `(${Object.keys(fields).join("|")})`;
  return `^${field}(_(and|or)_${field})+_(${conditions.join("|")})$`;
}

function describeOwnFilters(fields: FilterFields): JsonObject {
  const search = {
    type: "string",
    description: "Words from the name, path, destination or title.",
  };
  return {
    name: "f",
    in: "query",
    style: "deepObject",
    explode: true,
    description:
      "Filters that only Waypost has, written like those in `q`. " +
      `The fields are ${nameAll(fields)}. \`f[${searchName}]\` searches the text of a link.`,
    schema: {
      type: "object",
      properties: { [searchName]: search, ...describeConditions(fields, offeredConditions, text) },
    },
    ...own,
  };
}

function nameAll(fields: FilterFields): string {
  return Object.keys(fields).join(", ");
}

const text = { type: "string" } as const;
const values = { $ref: "#/components/schemas/FilterValue" } as const;

export const parameterSchemas: Readonly<Record<string, JsonObject>> = {
  FilterValue: {
    type: ["string", "array"],
    items: text,
    description:
      "One value or a list. Conditions other than `in` use only the first value of a list.",
  },
};

/** `plain` is the schema of every condition except `in`. */
function describeConditions(
  fields: FilterFields,
  known: readonly string[],
  plain: JsonObject,
): JsonObject {
  return Object.fromEntries(
    Object.keys(fields).flatMap((field) =>
      known.map((condition) => [`${field}_${condition}`, condition === "in" ? values : plain]),
    ),
  );
}

export function listConditions(endpoint: Endpoint): readonly JsonObject[] {
  const { effect, overwrites, success } = endpoint;
  if (effect !== "destroy" && !overwrites) return [];
  return success.also === undefined ? [ifMatch] : [ifMatch, ifNoneMatch];
}

const ifMatch = {
  name: "If-Match",
  in: "header",
  description: "Write only if the record still has this tag.",
  schema: { type: "string" },
  ...own,
} as const;

const ifNoneMatch = {
  name: "If-None-Match",
  in: "header",
  description: "Write only if the record does not exist.",
  schema: { type: "string", const: "*" },
  ...own,
} as const;
