import * as z from "zod";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";

type Override = NonNullable<z.core.ToJSONSchemaParams["override"]>;
type Shape = Readonly<Record<string, z.ZodType>>;
type Members = Readonly<Record<string, JsonObject>>;

/**
 * Writes an object's members as JSON Schema 2020-12, the dialect where none is named. Each member
 * is written once for all tools that have it, because writing takes long.
 */
export function createWriter(
  override: Override = () => {},
  finish: (member: JsonObject) => JsonObject = (member) => member,
): (shape: Shape) => Members {
  const written = new WeakMap<z.ZodType, JsonObject>();

  return (shape) => {
    const members = Object.entries(shape);
    const fresh = writeAll(members.filter(([, member]) => !written.has(member)));
    return Object.fromEntries(
      members.map(([name, member]) => {
        const field = written.get(member) ?? finish(mapObjects(fresh[name] ?? {}, dropAny));
        written.set(member, field);
        return [name, field];
      }),
    );
  };

  /** All in one call: each call takes as long again as what it writes. */
  function writeAll(members: readonly (readonly [string, z.ZodType])[]): Members {
    if (members.length === 0) return {};
    const { properties } = z.toJSONSchema(z.object(Object.fromEntries(members)), {
      io: "input",
      override: (context) => {
        const { jsonSchema } = context;
        // Every int would name JavaScript's own bounds.
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
        // The names of an object's members are texts everywhere.
        delete jsonSchema.propertyNames;
        override(context);
      },
    });
    // No member here is `z.any()`, the one schema that would be written as a bare `true`.
    return properties as Members;
  }
}

/** The value with every object in it changed, the inner ones first. An object stays an object. */
export function mapObjects<Value>(value: Value, change: (object: JsonObject) => JsonObject): Value {
  return mapInside(value, change) as Value;
}

function mapInside(value: unknown, change: (object: JsonObject) => JsonObject): unknown {
  if (Array.isArray(value)) return value.map((item) => mapInside(item, change));
  if (!isJsonObject(value)) return value;
  const parts = Object.entries(value).map(([name, part]) => [name, mapInside(part, change)]);
  return change(Object.fromEntries(parts) as JsonObject);
}

/** Of what may be anything there is nothing to say; what is required, is so all the same. */
function dropAny({ items, properties, ...schema }: JsonObject): JsonObject {
  const told = Object.entries(properties ?? {}).filter(([, member]) => !isEmpty(member));
  return {
    ...schema,
    ...(items !== undefined && !isEmpty(items) && { items }),
    ...(told.length > 0 && { properties: Object.fromEntries(told) }),
  };
}

function isEmpty(schema: unknown): boolean {
  return isJsonObject(schema) && Object.keys(schema).length === 0;
}
