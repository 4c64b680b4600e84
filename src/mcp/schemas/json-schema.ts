import * as z from "zod";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";

/** Converts Zod schemas to the JSON Schema that MCP clients read. */

type SchemaOverride = NonNullable<z.core.ToJSONSchemaParams["override"]>;
type Shape = Readonly<Record<string, z.ZodType>>;
type WrittenMembers = Readonly<Record<string, JsonObject>>;

/**
 * Creates a function that converts an object's properties to JSON Schema 2020-12, the default
 * dialect. Conversion is slow, so each property is converted once and shared by all tools.
 */
export function createWriter(
  override: SchemaOverride = () => {},
  finish: (member: JsonObject) => JsonObject = (member) => member,
): (shape: Shape) => WrittenMembers {
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

  /** Converts all properties in one call, because each call has a high fixed cost. */
  function writeAll(members: readonly (readonly [string, z.ZodType])[]): WrittenMembers {
    if (members.length === 0) return {};
    const { properties } = z.toJSONSchema(z.object(Object.fromEntries(members)), {
      io: "input",
      override: (context) => {
        const { jsonSchema } = context;
        // Omits the default limits of integers.
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
        // `propertyNames` is redundant, because property names are always strings.
        delete jsonSchema.propertyNames;
        override(context);
      },
    });
    // The cast is safe: only `z.any()` would be converted to `true`, and no property uses it.
    return properties as WrittenMembers;
  }
}

/** Applies `change` to every object in a value, inner objects first. */
export function mapObjects<Value>(value: Value, change: (object: JsonObject) => JsonObject): Value {
  return mapInside(value, change) as Value;
}

function mapInside(value: unknown, change: (object: JsonObject) => JsonObject): unknown {
  if (Array.isArray(value)) return value.map((item) => mapInside(item, change));
  if (!isJsonObject(value)) return value;
  const parts = Object.entries(value).map(([name, part]) => [name, mapInside(part, change)]);
  return change(Object.fromEntries(parts) as JsonObject);
}

/** Drops properties with an empty schema. The list of required properties still names them. */
function dropAny({ items, properties, ...schema }: JsonObject): JsonObject {
  const kept = Object.entries(properties ?? {}).filter(([, member]) => !isEmpty(member));
  return {
    ...schema,
    ...(items !== undefined && !isEmpty(items) && { items }),
    ...(kept.length > 0 && { properties: Object.fromEntries(kept) }),
  };
}

function isEmpty(schema: unknown): boolean {
  return isJsonObject(schema) && Object.keys(schema).length === 0;
}
