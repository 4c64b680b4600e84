import { z } from "zod";
import type { Endpoint } from "../contract/endpoint.ts";
import { conditions } from "../contract/filters.ts";
import { paging } from "../contract/policy.ts";
import { once } from "./once.ts";
import type { JsonObject } from "./tool.ts";

/** From an entry to the one flat object that its tool takes. */

export type InputOptions = {
  /** What `id` may be, in a few words. */
  readonly idText: string;
  /** Whether the call takes a sealed approval (two-step mode). */
  readonly takesApproval: boolean;
};

export function buildInput(endpoint: Endpoint, options: InputOptions): z.ZodObject {
  const { params, list, body, required = [] } = endpoint;
  const fields: Record<string, z.ZodType> = {};
  if (params !== undefined) fields["id"] = z.string().min(1).describe(options.idText);
  if (list !== undefined) Object.assign(fields, buildListFields(Object.keys(list.filters)));
  for (const [name, field] of Object.entries(body?.shape ?? {})) {
    // zod types a shape's members as its core's schemas, of which every one here is a ZodType.
    const strict = tighten(field as z.ZodType);
    fields[name] = required.includes(name) ? demand(strict) : strict;
  }
  if (options.takesApproval) {
    fields["approval"] = z
      .string()
      .optional()
      .describe("approval.token of the first call's answer");
  }
  return z.strictObject(fields);
}

/** `in` takes a list, `null` and `present` a boolean, everything else one value. */
const filterValue = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.array(z.union([z.string(), z.number()])),
]);

function buildListFields(filterable: readonly string[]): Record<string, z.ZodType> {
  const pages = {
    page: z.int().min(1).optional(),
    limit: z
      .int()
      .min(1)
      .max(paging.max_limit)
      .optional()
      .describe(`${paging.default_limit} by default`),
  };
  if (filterable.length === 0) return pages;
  const field = z.enum(filterable);
  const filter = z.strictObject({ field, condition: z.enum(conditions), value: filterValue });
  const direction = z.enum(["asc", "desc"]);
  return {
    filters: z
      .array(filter)
      .max(paging.max_filters)
      .optional()
      .describe("All must hold. in: a list; null, present: a boolean"),
    sort: z.strictObject({ field, direction }).optional(),
    ...pages,
  };
}

/**
 * The contract's schemas drop what they do not know, for that is how the API is. Here a member
 * that nobody knows is most likely a mistyped one.
 */
function tighten(schema: z.ZodType): z.ZodType {
  const { description } = schema;
  const tight = tightenInner(schema);
  return description === undefined ? tight : tight.describe(description);
}

function tightenInner(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return tighten(inner(schema)).optional();
  if (schema instanceof z.ZodNullable) return tighten(inner(schema)).nullable();
  if (!(schema instanceof z.ZodObject)) return schema;
  const members = Object.entries<z.ZodType>(schema.shape);
  return z.strictObject(
    Object.fromEntries(members.map(([name, member]) => [name, tighten(member)])),
  );
}

/** A field that the API demands: neither absent nor null. */
function demand(schema: z.ZodType): z.ZodType {
  const isLoose = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  if (!isLoose) return schema;
  const { description } = schema;
  const bare = demand(inner(schema));
  return description === undefined ? bare : bare.describe(description);
}

/** zod types what a wrapper holds as its core's schema, of which every schema here is one. */
function inner(schema: z.ZodOptional | z.ZodNullable): z.ZodType {
  return schema.unwrap() as z.ZodType;
}

/**
 * The schema as a client reads it. Short, for a model pays for every word: null says nothing that
 * an empty text does not, except where a whole object is taken away. Fields that are `silent` have
 * their texts elsewhere.
 */
function publishInput(schema: z.ZodObject, silent: readonly string[] = []): JsonObject {
  const { $schema: _, ...published } = z.toJSONSchema(schema, {
    io: "input",
    override: ({ zodSchema, jsonSchema, path }) => {
      if (zodSchema === filterValue) {
        delete jsonSchema.anyOf;
        Object.assign(jsonSchema, {
          type: ["string", "number", "boolean", "array"],
          items: { type: "string" },
        });
      }
      // That members are strict is said once, at the top.
      // Every int of JSON Schema would name JavaScript's own bound.
      if (path.length > 0) delete jsonSchema.additionalProperties;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  const { properties, ...rest } = shorten(published) as { readonly properties?: JsonObject };
  const fields = Object.entries(properties ?? {}).map(([name, field]) => [
    name,
    silent.includes(name) ? dropTexts(field) : field,
  ]);
  return { ...rest, properties: Object.fromEntries(fields) };
}

/** The schema with the texts of its fields and without them, each made when first asked for. */
export function publishBoth(
  schema: () => z.ZodObject,
  fields: readonly string[],
): (isTerse: boolean) => JsonObject {
  const full = once(() => publishInput(schema()));
  const terse = once(() => publishInput(schema(), fields));
  return (isTerse) => (isTerse ? terse() : full());
}

function dropTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dropTexts);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => name !== "description");
  return Object.fromEntries(kept.map(([name, part]) => [name, dropTexts(part)]));
}

/** `anyOf: [schema, null]` becomes the schema itself; an object keeps the null, to be detached. */
function shorten(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shorten);
  if (typeof value !== "object" || value === null) return value;
  const { anyOf, ...rest } = value as { readonly anyOf?: readonly JsonObject[] };
  const short = Object.fromEntries(
    Object.entries(rest).map(([name, part]) => [name, shorten(part)]),
  );
  const [first, second] = anyOf ?? [];
  if (first === undefined || second?.["type"] !== "null") {
    return anyOf === undefined ? short : { ...short, anyOf: shorten(anyOf) };
  }
  const kept = shorten(first) as JsonObject;
  const isObject = first["type"] === "object";
  return { ...kept, ...(isObject && { type: ["object", "null"] }), ...short };
}
