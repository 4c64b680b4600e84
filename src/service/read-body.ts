import * as z from "zod";
import type { CarriedRequest, Sender } from "../contract/api-message.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { fieldMeanings, unwrap } from "../contract/fields.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { limits } from "../contract/limits.ts";
import { messages } from "../contract/messages.ts";
import {
  badRequest,
  makeFieldProblem,
  Problem,
  toSentence,
  validationFailed,
  type FieldProblem,
} from "../contract/problem.ts";
import { nameField } from "../contract/rules/writable-fields.ts";
import { humanize, isBlank } from "../contract/text.ts";
import { mostKeylessBytes } from "../network/read-body.ts";
import { suggestNames } from "../text/nearest-name.ts";
import { showName } from "../text/show-hidden.ts";
import { readFlag } from "./read-query.ts";

/** Parses the JSON body of an API request, and checks it before the handler runs. */

export type ReadBody = {
  readonly body: unknown;
  readonly ignored: readonly string[];
  /** The problems of fields with the wrong type. `body` does not contain these fields. */
  readonly faults: readonly FieldProblem[];
};

/**
 * Checks the content type, size, JSON, wrapper, field names, required parameters and types.
 * Handlers validate the values later.
 */
export async function readBody(
  request: CarriedRequest,
  endpoint: Endpoint,
  schema: z.ZodObject,
): Promise<ReadBody> {
  const { body_optional, required = [], validation_key } = endpoint;
  const text = await readText(request, endpoint);
  const sent = unwrapFields(text === "" && body_optional ? {} : parseJson(text), endpoint);
  const fields = chooseAppsById(sent.fields, endpoint);
  for (const name of required) {
    if (isBlank(fields[name])) throw badRequest(messages.parameter_missing(name));
  }
  const ignored = listIgnored({ ...sent, fields }, endpoint);
  const parsed = schema.safeParse(coerceFields(fields, schema));
  if (parsed.success) return { body: parsed.data, ignored, faults: [] };
  const { issues } = parsed.error;
  const faults = issues.map(describeIssue);
  const rest = schema.safeParse(coerceFields(issues.reduce(dropFaulty, fields), schema));
  if (rest.success) return { body: rest.data, ignored, faults };
  throw validationFailed(faults, validation_key);
}

/** Returns an empty string if there is no body. An optional empty body needs no content type. */
async function readText(
  { headers, body = "" }: CarriedRequest,
  endpoint: Endpoint,
): Promise<string> {
  const type = headers["content-type"] ?? "";
  const isJson = /^application\/json\s*(;|$)/i.test(type);
  const isOptional = endpoint.body_optional === true;
  if (!isJson && !(isOptional && type === "")) throw refuseType(type, endpoint);
  const isKeyless = endpoint.auth === "none" || endpoint.auth === "client";
  const sender = isKeyless ? "keyless" : "keyed";
  const isRead = typeof body === "string";
  if (isRead && Buffer.byteLength(body) > most_bytes[sender]) throw bodyTooLarge(sender);
  const text = isRead ? body : await body(sender);
  if (!isJson && text !== "") throw badRequest(messages.content_type);
  return text;
}

/** Rejects the content type. For a form, the message contains an example of the JSON to send. */
function refuseType(type: string, { body, wrapper }: Endpoint): Problem {
  const isForm = /^(application\/x-www-form-urlencoded|multipart\/form-data)\s*(;|$)/i.test(type);
  const [name = ""] = Object.keys(body?.shape ?? {});
  const fields = { [name]: "…" };
  const example = JSON.stringify(wrapper === undefined ? fields : { [wrapper]: fields });
  return badRequest(isForm ? messages.form_refused(example) : messages.content_type);
}

const most_bytes = { keyless: mostKeylessBytes, keyed: limits.body_bytes } as const;

export function bodyTooLarge(sender: Sender): Problem {
  const isKeyless = sender === "keyless";
  return new Problem(413, isKeyless ? messages.keyless_too_large : messages.body_too_large);
}

function parseJson(text: string): JsonObject {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw badRequest(messages.body_invalid);
  }
  if (!isJsonObject(json)) throw badRequest(messages.body_not_object);
  return json;
}

type SentFields = {
  readonly fields: JsonObject;
  /** The name of the object that contains the fields, such as `link`. */
  readonly wrapper?: string;
  readonly outside: readonly string[];
};

/** Returns the fields without their wrapper. Some clients add an unnecessary `{"link": {…}}`. */
function unwrapFields(json: JsonObject, { wrapper, optional_wrapper }: Endpoint): SentFields {
  const name = wrapper ?? optional_wrapper ?? "";
  const fields = Object.hasOwn(json, name) ? json[name] : undefined;
  if (isJsonObject(fields)) {
    return { fields, wrapper: name, outside: Object.keys(json).filter((other) => other !== name) };
  }
  if (wrapper !== undefined) throw badRequest(messages.parameter_missing(wrapper));
  return { fields: json, outside: [] };
}

/**
 * Converts ids such as `ios_app_id` to objects such as `ios_app`. Responses contain ids, but
 * requests must contain objects, and clients send back the links they have read.
 */
function chooseAppsById(fields: JsonObject, endpoint: Endpoint): JsonObject {
  const { body, validation_key } = endpoint;
  const named: Record<string, unknown> = { ...fields };
  for (const member of listResponseFields(endpoint)) {
    const field = nameField(endpoint, member);
    const isOther = field !== member && Object.hasOwn(body?.shape ?? {}, field);
    if (!isOther || !Object.hasOwn(fields, member)) continue;
    const id = fields[member];
    const choice = isBlank(id) ? null : { id };
    const isSame =
      !Object.hasOwn(fields, field) || readChoice(fields[field]) === readChoice(choice);
    const clash = isSame ? undefined : `contradicts ${member}: send only one of the two`;
    const fault = isIdLike(id) ? clash : `must be a string in ${member}`;
    if (fault !== undefined) {
      throw validationFailed([makeFieldProblem(field, fault)], validation_key);
    }
    named[field] = choice;
    delete named[member];
  }
  return named;
}

/** Accepts numbers too, because they are converted to strings later. */
function isIdLike(id: unknown): boolean {
  return isBlank(id) || typeof id === "string" || typeof id === "number";
}

/** Returns the app's id, "" for no app, or undefined if fields other than the id are set. */
function readChoice(choice: unknown): string | undefined {
  if (choice === null) return "";
  if (!isJsonObject(choice)) return undefined;
  const { id, ...others } = choice;
  const isById = !isBlank(id) && isIdLike(id) && Object.values(others).every(isBlank);
  return isById ? String(id).toLowerCase() : undefined;
}

/** The maximum number of names in a message. A body may have thousands of unknown names. */
const mostNamed = 20;

/** An unknown name in the body, with the fields that the client may have meant instead. */
type UnknownField = {
  readonly name: string;
  /** The path of the object that contains the name, such as `ios_app.`. */
  readonly prefix: string;
  readonly suggestedPrefix: string;
  readonly known: readonly string[];
};

/**
 * Lists the fields to ignore. Clients often send back a whole record, so unknown fields are
 * accepted together with known ones. Throws if all fields are unknown, because the request would do
 * nothing.
 */
function listIgnored(sent: SentFields, endpoint: Endpoint): readonly string[] {
  const { fields, wrapper = "", outside } = sent;
  const known = Object.keys(endpoint.body?.shape ?? {});
  const unknownFields = [
    ...listUnknownFields(endpoint.body, fields, ""),
    ...outside.map((name) => ({ name, prefix: "", suggestedPrefix: `${wrapper}.`, known })),
  ];
  if (unknownFields.length === 0) return [];
  const answered = new Set(listResponseFields(endpoint));
  const isAnswered = (unknownField: UnknownField) =>
    unknownField.prefix === "" &&
    answered.has(unknownField.name) &&
    !known.includes(unknownField.name);
  // Sending back only read-only fields is a valid update, but it cannot create a record.
  const isUnchanged = endpoint.method !== "POST" && unknownFields.some(isAnswered);
  const isKnown = known.some((name) => Object.hasOwn(fields, name)) || isUnchanged;
  if (!isKnown) throw refuseUnknownFields(unknownFields, endpoint);
  return unknownFields.slice(0, mostNamed).map((unknownField) => {
    const meant = isAnswered(unknownField) ? "" : suggest(unknownField);
    return (
      showName(unknownField.prefix + unknownField.name) +
      (meant === "" ? "" : ` (did you mean ${meant}?)`)
    );
  });
}

function listResponseFields({ response }: Endpoint): readonly string[] {
  return response instanceof z.ZodObject ? Object.keys(response.shape) : [];
}

function listUnknownFields(
  schema: z.core.$ZodType | undefined,
  value: unknown,
  prefix: string,
): readonly UnknownField[] {
  const wanted = schema && unwrap(schema);
  if (!(wanted instanceof z.ZodObject) || !isJsonObject(value)) return [];
  const known = Object.keys(wanted.shape);
  return Object.entries(value).flatMap(([name, member]) =>
    Object.hasOwn(wanted.shape, name)
      ? listUnknownFields(wanted.shape[name], member, `${prefix}${name}.`)
      : [{ name, prefix, suggestedPrefix: prefix, known }],
  );
}

function refuseUnknownFields(
  unknownFields: readonly UnknownField[],
  { body, validation_key }: Endpoint,
): Problem {
  const named = unknownFields
    .slice(0, mostNamed)
    .map((unknownField) => ({ unknownField, meant: suggest(unknownField) }));
  const clauses = named.map(({ unknownField, meant }) => {
    const fault = meant === "" ? "no such field" : `did you mean ${meant}?`;
    return `${showName(unknownField.prefix + unknownField.name)}: ${fault}`;
  });
  const isGuessed = named.some(({ meant }) => meant !== "");
  const rest = isGuessed ? "" : `. The fields are ${Object.keys(body?.shape ?? {}).join(", ")}.`;
  return new Problem(422, toSentence(clauses) + rest, { key: validation_key ?? "error" });
}

function suggest({ name, suggestedPrefix, known }: UnknownField): string {
  const names = suggestNames(name, known, fieldMeanings);
  return names.map((field) => suggestedPrefix + field).join(" or ");
}

/**
 * Converts numbers, strings and booleans to the field's type if their meaning is clear. All other
 * values are left unchanged, and fail the type check.
 */
function coerceFields(value: unknown, schema: z.core.$ZodType): unknown {
  const wanted = unwrap(schema);
  if (wanted instanceof z.ZodString) return isExact(value) ? String(value) : value;
  if (wanted instanceof z.ZodBoolean) {
    const isWord = typeof value === "string" || typeof value === "number";
    return (isWord ? readFlag(String(value)) : undefined) ?? value;
  }
  if (wanted instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((item) => coerceFields(item, wanted.element));
  }
  if (!(wanted instanceof z.ZodObject) || !isJsonObject(value)) return value;
  const known = Object.entries<z.core.$ZodType>(wanted.shape).filter(([name]) =>
    Object.hasOwn(value, name),
  );
  return Object.fromEntries(known.map(([name, field]) => [name, coerceFields(value[name], field)]));
}

/**
 * Whether a value converts to a string without loss. Fractions and large numbers may lose digits.
 */
function isExact(value: unknown): boolean {
  return typeof value === "boolean" || Number.isSafeInteger(value);
}

/** Removes an invalid field. A list with an invalid item is removed entirely. */
function dropFaulty(fields: JsonObject, { path }: z.core.$ZodIssue): JsonObject {
  const names = path.filter((part) => typeof part === "string");
  const drop = (from: JsonObject, [name = "", ...inner]: readonly string[]): JsonObject => {
    const { [name]: member, ...others } = from;
    return inner.length > 0 && isJsonObject(member)
      ? { ...others, [name]: drop(member, inner) }
      : others;
  };
  return drop(fields, names);
}

function describeIssue(issue: z.core.$ZodIssue): FieldProblem {
  const field = issue.path.filter((part) => typeof part === "string").join(".");
  const label = humanize(field.replaceAll(".", "_"));
  return { field, message: `${label} must be ${nameExpected(issue)}` };
}

function nameExpected(issue: z.core.$ZodIssue): string {
  const expected = issue.code === "invalid_type" ? issue.expected : "";
  return expectedNames[expected] ?? "of another type";
}

const expectedNames: Readonly<Record<string, string>> = {
  string: "a string",
  boolean: "true or false",
  object: "an object",
  array: "a list of strings",
};
