import * as z from "zod";
import type { Endpoint } from "../../contract/endpoint.ts";
import { offeredConditions, fieldValues, type FilterFields } from "../../contract/filters.ts";
import type { JsonObject } from "../../contract/json.ts";
import { paging } from "../../contract/limits.ts";
import { findSearchFault } from "../../contract/rules/read-search.ts";
import { decodeFilter, filterValue, findFilterFault, findRepeated } from "./check-filters.ts";
import { createWriter, mapObjects } from "./json-schema.ts";
import { once } from "./once.ts";

/** From an entry to the one flat object that its tool takes. */

export type InputOptions = {
  /** What `id` may be, in a few words. */
  readonly idText: string;
  /** What the tool takes that the endpoint does not, or not so. */
  readonly own?: Fields;
};

export type Fields = Readonly<Record<string, z.ZodType>>;

/**
 * What the tool takes, member by member, as the contract has it; or, for `isTerse`, as it is shown
 * where another tool tells of the filters.
 */
export function listFields(endpoint: Endpoint, options: InputOptions, isTerse = false): Fields {
  const { params, list, required = [] } = endpoint;
  const fields: Record<string, z.ZodType> = {};
  if (params !== undefined) fields["id"] = describeId(options.idText);
  if (list !== undefined) Object.assign(fields, buildListFields(list, isTerse));
  for (const name of listTold(endpoint)) {
    // zod types a shape's members as its core's schemas, of which every one here is a ZodType.
    const field = endpoint.body?.shape[name] as z.ZodType;
    fields[name] = required.includes(name) ? makeRequired(field) : field;
  }
  return { ...fields, ...options.own };
}

/** The names of the body's fields that its tool takes. */
export function listTold({ body, not_in_tool = [] }: Endpoint): readonly string[] {
  return Object.keys(body?.shape ?? {}).filter((name) => !not_in_tool.includes(name));
}

/** What arguments are checked by: an unknown member is refused, at every depth. */
export function buildInput(fields: Fields): z.ZodObject {
  const members = Object.entries(fields).map(([name, field]) => [name, makeStrict(field)]);
  return z.strictObject(Object.fromEntries(members));
}

/** The same schema for each text, so that its JSON Schema is written once. */
function describeId(text: string): z.ZodType {
  const schema = ids.get(text) ?? z.string().describe(text);
  ids.set(text, schema);
  return schema;
}

const ids = new Map<string, z.ZodType>();

function buildListFields(
  { filters: sortable, own }: NonNullable<Endpoint["list"]>,
  isTerse: boolean,
): Fields {
  const pages = pageFields();
  const names = Object.keys(sortable);
  if (names.length === 0) return pages;
  const filterable = { ...sortable, ...own };
  const field = z.string().check(({ value, issues }) => {
    if (names.includes(value)) return;
    // No enum: a model knows the names by the filters, and need not pay for them twice.
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
    ...(own !== undefined && { after: z.int().min(0).optional() }),
  };
}

function describeFilters(fields: FilterFields): string {
  const choices = Object.entries(fieldValues).filter(([field]) => Object.hasOwn(fields, field));
  const told = choices.map(([field, values]) => `; ${field}: ${values.join(" or ")}`);
  return `All must match. in: list; null, present, empty: boolean${told.join("")}`;
}

/** One text that a person would name links by. */
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

/** Filters as they are shown where another tool tells of them; never used for checking. */
export const shownFilters = once(() => showFilters(z.unknown()));

function showFilters(field: z.ZodType): z.ZodType {
  const filter = z.strictObject({ field, condition: z.unknown(), value: z.unknown() });
  return z.array(filter).optional();
}

export const shownSearch = once(() => z.string().optional());

const pageFields = once((): Fields => {
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
 * The contract's schemas drop unknown members, as the API does. In a tool's arguments an unknown
 * member is most likely a mistyped one. Tools share most of their fields, so each is made once.
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

/** A field that the API demands: neither absent nor null. */
function makeRequired(schema: z.ZodType): z.ZodType {
  const isLoose = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return isLoose ? keepDescription(schema, makeRequired(inner(schema))) : schema;
}

function keepDescription({ description }: z.ZodType, made: z.ZodType): z.ZodType {
  return description === undefined ? made : made.describe(description);
}

/** zod types what a wrapper holds as its core's schema, of which every schema here is one. */
function inner(schema: z.ZodOptional | z.ZodNullable): z.ZodType {
  return schema.unwrap() as z.ZodType;
}

type SchemaOptions = {
  /** Fields that are declared as required, and left to the API to check. */
  readonly needed: readonly string[] | undefined;
  /** Whether the names of the `told` fields say enough where no other tool tells of them. */
  readonly isWordless: boolean | undefined;
};

/**
 * The schema with all of its fields, and as it is shown beside a tool that tells of the `told`
 * ones: without their texts and what is inside of them. Each is made when first asked for.
 */
export function buildBothSchemas(
  fields: (isTerse: boolean) => Fields,
  told: readonly string[],
  { needed = [], isWordless = false }: SchemaOptions,
): (isTerse: boolean) => JsonObject {
  const build = (isTerse: boolean, shorten?: Shorten) =>
    declareNeeded(buildInputSchema(fields(isTerse), told, shorten), needed);
  const full = once(() => build(false, isWordless ? dropText : undefined));
  const terse = once(() => build(true, dropInside));
  return (isTerse) => (isTerse ? terse() : full());
}

type Shorten = (schema: JsonObject) => JsonObject;

/** What the API will not do without, so that a model need not learn of it by a refusal. */
function declareNeeded(
  { type, required, ...schema }: JsonObject,
  needed: readonly string[],
): JsonObject {
  const names = new Set([...(Array.isArray(required) ? required : []), ...needed]);
  return { type, ...(names.size > 0 && { required: [...names] }), ...schema };
}

/** As a client reads it; short, for a model pays for every word. */
function buildInputSchema(
  fields: Fields,
  told: readonly string[],
  shorten: Shorten = (schema) => schema,
): JsonObject {
  const required = Object.keys(fields).filter((name) => !(fields[name] instanceof z.ZodOptional));
  const properties = Object.entries(writeFields(fields)).map(([name, field]) => [
    name,
    told.includes(name) ? mapObjects(field, shorten) : field,
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
    // That members are strict is said once, at the top, and so many items are never needed.
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
 * Null says nothing that an empty text does not: it is understood, but not advertised. Only an
 * object can be taken away by it. What may be null is published as two types or two schemas.
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
