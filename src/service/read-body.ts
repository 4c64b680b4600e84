import * as z from "zod";
import type { CarriedRequest, Sender } from "../contract/api-message.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { fieldMeanings, unwrap } from "../contract/fields.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { limits } from "../contract/limits.ts";
import { messages } from "../contract/messages.ts";
import {
  badRequest,
  faultOf,
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

/** The checked body of a request. */
export type ReadBody = {
  readonly body: unknown;
  /** The names of ignored fields. */
  readonly ignored: readonly string[];
  /** The fields of a wrong type. `body` does not contain them. */
  readonly faults: readonly FieldProblem[];
};

/**
 * Reads and checks the body: content type, size, JSON, wrapper, names, required parameters, then
 * types. The result does not depend on the format that the client used. Handlers check the content
 * later.
 */
export async function readBody(request: CarriedRequest, endpoint: Endpoint): Promise<ReadBody> {
  const { body: schema, body_optional, required = [], validation_key } = endpoint;
  if (schema === undefined) return { body: {}, ignored: [], faults: [] };
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

/**
 * Reads the body. An empty text counts as an omitted body. If the body is optional, an empty one
 * needs no content type.
 */
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
  const isThere = typeof body === "string";
  if (isThere && Buffer.byteLength(body) > most_bytes[sender]) throw bodyTooLarge(sender);
  const text = isThere ? body : await body(sender);
  if (!isJson && text !== "") throw badRequest(messages.content_type);
  return text;
}

/** Rejects a content type. A client that sends a form gets an example of the JSON to send. */
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
  /** The object around the fields, and members outside of it, which are ignored. */
  readonly wrapper?: string;
  readonly beside: readonly string[];
};

/**
 * Returns the fields inside of the wrapper. Some clients send `{"link": {…}}` even where no wrapper
 * is required.
 */
function unwrapFields(json: JsonObject, { wrapper, optional_wrapper }: Endpoint): SentFields {
  const name = wrapper ?? optional_wrapper ?? "";
  const fields = Object.hasOwn(json, name) ? json[name] : undefined;
  if (isJsonObject(fields)) {
    return { fields, wrapper: name, beside: Object.keys(json).filter((other) => other !== name) };
  }
  if (wrapper !== undefined) throw badRequest(messages.parameter_missing(wrapper));
  return { fields: json, beside: [] };
}

/**
 * Converts app ids to app objects. Links in responses have `ios_app_id`, but requests need the
 * object `ios_app`. Clients send back the links that they read, so ids are accepted under the same
 * rules.
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
    if (fault !== undefined) throw validationFailed([faultOf(field, fault)], validation_key);
    named[field] = choice;
    delete named[member];
  }
  return named;
}

/** Checks whether a value can be an id. Numbers become texts later. */
function isIdLike(id: unknown): boolean {
  return isBlank(id) || typeof id === "string" || typeof id === "number";
}

/**
 * Reads the id in an app object. Returns an empty text if no app is chosen, and undefined if the
 * app is chosen in another way.
 */
function readChoice(choice: unknown): string | undefined {
  if (choice === null) return "";
  if (!isJsonObject(choice)) return undefined;
  const { id, ...others } = choice;
  const isById = !isBlank(id) && isIdLike(id) && Object.values(others).every(isBlank);
  return isById ? String(id).toLowerCase() : undefined;
}

/** The maximum number of names to report. A body may have thousands of unknown names. */
const mostNamed = 20;

/** A member that matches no field, and the fields that may have been meant. */
type Stray = {
  readonly name: string;
  /**
   * The prefix where the member was sent, and the prefix of the fields that may have been meant.
   */
  readonly place: string;
  readonly home: string;
  readonly known: readonly string[];
};

/**
 * Lists the ignored fields. Throws if the body contains no known field. Clients often send back a
 * whole record, so unknown fields are accepted among known ones. A body with only unknown fields is
 * rejected, because it would have no effect.
 */
function listIgnored(sent: SentFields, endpoint: Endpoint): readonly string[] {
  const { fields, wrapper = "", beside } = sent;
  const known = Object.keys(endpoint.body?.shape ?? {});
  const strays = [
    ...listStrays(endpoint.body, fields, ""),
    ...beside.map((name) => ({ name, place: "", home: `${wrapper}.`, known })),
  ];
  if (strays.length === 0) return [];
  const answered = new Set(listResponseFields(endpoint));
  const isAnswered = (stray: Stray) =>
    stray.place === "" && answered.has(stray.name) && !known.includes(stray.name);
  // A body with only read-only fields leaves an existing record unchanged. It cannot create a
  // record.
  const isUnchanged = endpoint.method !== "POST" && strays.some(isAnswered);
  const isKnown = known.some((name) => Object.hasOwn(fields, name)) || isUnchanged;
  if (!isKnown) throw refuseStrays(strays, endpoint);
  return strays.slice(0, mostNamed).map((stray) => {
    const meant = isAnswered(stray) ? "" : suggest(stray);
    return showName(stray.place + stray.name) + (meant === "" ? "" : ` (did you mean ${meant}?)`);
  });
}

/** Lists the fields of the response. A page has none. */
function listResponseFields({ response }: Endpoint): readonly string[] {
  return response instanceof z.ZodObject ? Object.keys(response.shape) : [];
}

function listStrays(
  schema: z.core.$ZodType | undefined,
  value: unknown,
  place: string,
): readonly Stray[] {
  const wanted = schema && unwrap(schema);
  if (!(wanted instanceof z.ZodObject) || !isJsonObject(value)) return [];
  const known = Object.keys(wanted.shape);
  return Object.entries(value).flatMap(([name, member]) =>
    Object.hasOwn(wanted.shape, name)
      ? listStrays(wanted.shape[name], member, `${place}${name}.`)
      : [{ name, place, home: place, known }],
  );
}

function refuseStrays(strays: readonly Stray[], { body, validation_key }: Endpoint): Problem {
  const named = strays.slice(0, mostNamed).map((stray) => ({ stray, meant: suggest(stray) }));
  const clauses = named.map(({ stray, meant }) => {
    const fault = meant === "" ? "no such field" : `did you mean ${meant}?`;
    return `${showName(stray.place + stray.name)}: ${fault}`;
  });
  const isGuessed = named.some(({ meant }) => meant !== "");
  const rest = isGuessed ? "" : `. The fields are ${Object.keys(body?.shape ?? {}).join(", ")}.`;
  return new Problem(422, toSentence(clauses) + rest, { key: validation_key ?? "error" });
}

function suggest({ name, home, known }: Stray): string {
  const names = suggestNames(name, known, fieldMeanings);
  return names.map((field) => home + field).join(" or ");
}

/**
 * Converts ids sent as numbers and flags sent as texts, if their meaning is clear. Other values
 * stay unchanged and are rejected for their type.
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
 * Checks whether a value converts to the text that the client meant. Fractions and very large
 * numbers may have lost digits.
 */
function isExact(value: unknown): boolean {
  return typeof value === "boolean" || Number.isSafeInteger(value);
}

/** Removes the invalid field. A list with an invalid item is removed as a whole. */
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
