import type { Endpoint } from "../contract/endpoint.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { faultOf, validationFailed } from "../contract/problem.ts";
import { nameField } from "../contract/rules/writable-fields.ts";
import { isBlank } from "../contract/text.ts";
import { listResponseFields } from "./list-ignored.ts";

/**
 * A link tells of its app by `ios_app_id`, and takes it as the object `ios_app`. Clients write what
 * they have read, so the id becomes that object: every rule about apps then holds for it.
 */
export function nameApps(fields: JsonObject, endpoint: Endpoint): JsonObject {
  const { body, validation_key } = endpoint;
  const named: Record<string, unknown> = { ...fields };
  for (const member of listResponseFields(endpoint)) {
    const field = nameField(endpoint, member);
    const isOther = field !== member && Object.hasOwn(body?.shape ?? {}, field);
    if (!isOther || !Object.hasOwn(fields, member)) continue;
    const id = fields[member];
    const choice = isBlank(id) ? null : { id };
    const fault = isText(id) ? undefined : `must be a string in ${member}`;
    const isSame =
      !Object.hasOwn(fields, field) || readChoice(fields[field]) === readChoice(choice);
    const clash = isSame ? undefined : `contradicts ${member}: send only one of the two`;
    const told = fault ?? clash;
    if (told !== undefined) throw validationFailed([faultOf(field, told)], validation_key);
    named[field] = choice;
    delete named[member];
  }
  return named;
}

/** A number is read as a text later. */
function isText(id: unknown): boolean {
  return isBlank(id) || typeof id === "string" || typeof id === "number";
}

/** The id by which the object chooses, empty where it chooses none; undefined for another way. */
function readChoice(choice: unknown): string | undefined {
  if (choice === null) return "";
  if (!isJsonObject(choice)) return undefined;
  const { id, ...others } = choice;
  const isById = !isBlank(id) && isText(id) && Object.values(others).every(isBlank);
  return isById ? String(id).toLowerCase() : undefined;
}
