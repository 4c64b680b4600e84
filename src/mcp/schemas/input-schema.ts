import * as z from "zod";
import type { Endpoint } from "../../contract/endpoint.ts";
import { offeredConditions, fieldValues, type FilterFields } from "../../contract/filters.ts";
import type { JsonObject } from "../../contract/json.ts";
import { paging } from "../../contract/limits.ts";
import { findSearchFault } from "../../contract/rules/read-search.ts";
import { decodeFilter, filterValue, findFilterFault, findRepeated } from "./check-filters.ts";
import { createWriter, mapObjects } from "./json-schema.ts";
import { once } from "../../contract/waiting.ts";

/**
 * Builds the schema of a tool's arguments: a flat object of the endpoint's path, query and body
 * fields.
 */

export type InputOptions = {
  /** Describes what `id` accepts. */
  readonly idText: string;
  /** Arguments that are added to the endpoint's fields or replace them. */
  readonly own?: ToolFields;
};

export type ToolFields = Readonly<Record<string, z.ZodType>>;

/**
 * Lists the schemas of the tool's arguments. With `isTerse`, filters are abbreviated, because
 * another listed tool describes them.
 */
export function listFields(endpoint: Endpoint, options: InputOptions, isTerse = false): ToolFields {
  const { params, list, required = [] } = endpoint;
  const fields: Record<string, z.ZodType> = {};
  if (params !== undefined) fields["id"] = z.string().describe(options.idText);
  if (list !== undefined) Object.assign(fields, buildListFields(list, isTerse));
  for (const name of listBodyFields(endpoint)) {
    const field = endpoint.body?.shape[name] as z.ZodType;
    fields[name] = required.includes(name) ? makeRequired(field) : field;
  }
  return { ...fields, ...options.own };
}

export function listBodyFields({ body, not_in_tool = [] }: Endpoint): readonly string[] {
  return Object.keys(body?.shape ?? {}).filter((name) => !not_in_tool.includes(name));
}

/**
 * Builds the strict schema that validates arguments. It rejects unknown properties at every depth.
 */
export function buildInput(fields: ToolFields): z.ZodObject {
  const members = Object.entries(fields).map(([name, field]) => [name, makeStrict(field)]);
  return z.strictObject(Object.fromEntries(members));
}

function buildListFields(
  { filters: sortable, own }: NonNullable<Endpoint["list"]>,
  isTerse: boolean,
): ToolFields {
  const pages = pageFields();
  const names = Object.keys(sortable);
  if (names.length === 0) return pages;
  const filterable = { ...sortable, ...own };
  const field = z.string().check(({ value, issues }) => {
    if (names.includes(value)) return;
    // Validated here, because listing the names in the published schema would cost tokens.
    issues.push({ code: "invalid_value", input: value, values: names });
  });
  const sort = z.strictObject({ field, direction: z.enum(["asc", "desc"]) });
  const filters = z
    .array(buildFilter(filterable))
    .max(paging.max_filters)
    .check(({ value, issues }) => {
      for (const index of findRepeated(value)) {
        const message = "repeats the field and condition of an earlier filter";
        issues.push({ code: "custom", input: value, path: [index], message });
      }
    })
    .describe(describeFilters(filterable));
  return {
    filters: isTerse ? showFilters(z.enum(names)) : filters.optional(),
    ...(own !== undefined && { search: searchText() }),
    sort: sort.optional(),
    ...pages,
  };
}

function describeFilters(fields: FilterFields): string {
  const choices = Object.entries(fieldValues).filter(([field]) => Object.hasOwn(fields, field));
  const texts = choices.map(([field, values]) => `; ${field}: ${values.join(" or ")}`);
  return `All must match. in: list; null, present, empty: boolean${texts.join("")}`;
}

const searchText = once(() =>
  z
    .string()
    .check(({ value, issues }) => {
      const fault = findSearchFault(value);
      if (fault !== undefined) issues.push({ code: "custom", input: value, message: fault });
    })
    .optional()
    .describe("Words from name, path, url or title, or an address"),
);

/**
 * The abbreviated filters for tools that share another tool's filters. They are published, but not
 * used for validation.
 */
export const shownFilters = once(() => showFilters(z.unknown()));

function showFilters(field: z.ZodType): z.ZodType {
  const filter = z.strictObject({ field, condition: z.unknown(), value: z.unknown() });
  return z.array(filter).optional();
}

export const shownSearch = once(() => z.string().optional());

const pageFields = once((): ToolFields => {
  const limit = z.int().min(1).max(paging.max_limit).meta({ default: paging.default_limit });
  return { page: z.int().min(1).optional(), limit: limit.optional() };
});

function buildFilter(filterable: FilterFields) {
  const field = z.enum(Object.keys(filterable));
  return z
    .strictObject({ field, condition: z.enum(offeredConditions), value: filterValue })
    .overwrite(decodeFilter)
    .check(({ value, issues }) => {
      const fault = findFilterFault(filterable, value);
      if (fault === undefined) return;
      issues.push({ code: "custom", input: value, message: `on ${value.field} ${fault}` });
    });
}

/**
 * Makes a schema reject unknown properties, because they are most likely typos. The API ignores
 * them instead. Each strict schema is built once, because tools share most fields.
 */
function makeStrict(schema: z.ZodType): z.ZodType {
  const made = strict.get(schema) ?? keepDescription(schema, makeInnerStrict(schema));
  strict.set(schema, made);
  return made;
}

const strict = new WeakMap<z.ZodType, z.ZodType>();

function makeInnerStrict(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return makeStrict(inner(schema)).optional();
  if (schema instanceof z.ZodNullable) return makeStrict(inner(schema)).nullable();
  return schema instanceof z.ZodObject ? buildInput(schema.shape) : schema;
}

function makeRequired(schema: z.ZodType): z.ZodType {
  const isLoose = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return isLoose ? keepDescription(schema, makeRequired(inner(schema))) : schema;
}

function keepDescription({ description }: z.ZodType, made: z.ZodType): z.ZodType {
  return description === undefined ? made : made.describe(description);
}

function inner(schema: z.ZodOptional | z.ZodNullable): z.ZodType {
  return schema.unwrap() as z.ZodType;
}

export type PublishedFields = {
  readonly fields: (isTerse: boolean) => ToolFields;
  /** The fields that another listed tool may already describe. */
  readonly sharedFields?: readonly string[];
  /** Fields that are published as required, although only the API enforces that. */
  readonly needed?: readonly string[] | undefined;
  /** Whether the `sharedFields` are always listed without descriptions. */
  readonly isWordless?: boolean;
};

/**
 * Builds the full and the abbreviated schema, each on first use. The abbreviated one omits
 * descriptions and nested fields of `sharedFields`, which another listed tool describes.
 */
export function buildBothSchemas(tool: PublishedFields): (isTerse: boolean) => JsonObject {
  const { fields, sharedFields = [], needed = [], isWordless = false } = tool;
  const build = (isTerse: boolean, shorten?: Shorten) =>
    declareNeeded(buildInputSchema(fields(isTerse), sharedFields, shorten), needed);
  const full = once(() => build(false, isWordless ? dropText : undefined));
  const terse = once(() => build(true, dropInside));
  return (isTerse) => (isTerse ? terse() : full());
}

type Shorten = (schema: JsonObject) => JsonObject;

/** Publishes which fields the API requires, so that models need not discover it through errors. */
function declareNeeded(
  { type, required, ...schema }: JsonObject,
  needed: readonly string[],
): JsonObject {
  const names = new Set([...(Array.isArray(required) ? required : []), ...needed]);
  return { type, ...(names.size > 0 && { required: [...names] }), ...schema };
}

/** Generates the JSON Schema for clients. It is short, to save tokens. */
function buildInputSchema(
  fields: ToolFields,
  shortened: readonly string[],
  shorten: Shorten = (schema) => schema,
): JsonObject {
  const required = Object.keys(fields).filter((name) => !(fields[name] instanceof z.ZodOptional));
  const properties = Object.entries(writeFields(fields)).map(([name, field]) => [
    name,
    shortened.includes(name) ? mapObjects(field, shorten) : field,
  ]);
  return {
    type: "object",
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    properties: Object.fromEntries(properties),
  };
}

const writeFields = createWriter(
  ({ zodSchema, jsonSchema }) => {
    if (zodSchema === filterValue) {
      delete jsonSchema.anyOf;
      jsonSchema.type = ["string", "number", "boolean", "array"];
      jsonSchema.items = { type: "string" };
    }
    // Omitted to save tokens: the top level already rejects unknown properties, and no model needs
    // the limits of lists.
    delete jsonSchema.additionalProperties;
    delete jsonSchema.maxItems;
  },
  (field) => mapObjects(field, dropNull),
);

function dropText(object: JsonObject): JsonObject {
  const { description: _, ...kept } = object;
  return kept;
}

function dropInside(schema: JsonObject): JsonObject {
  const { properties: _, ...kept } = dropText(schema);
  return kept;
}

/**
 * Drops null from a nullable field's schema. Objects keep it, because only null removes an object.
 */
function dropNull({ anyOf, ...schema }: JsonObject): JsonObject {
  if (Array.isArray(anyOf)) {
    const [shown] = anyOf as readonly JsonObject[];
    return { ...shown, ...schema, ...(shown?.["type"] === "object" && { type: objectOrNull }) };
  }
  const [type, other] = [schema["type"]].flat();
  return other === "null" ? { ...schema, type } : schema;
}

const objectOrNull = ["object", "null"];
