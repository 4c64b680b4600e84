import type { z } from "zod";
import type { CarriedRequest, Sender } from "../contract/api-message.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { limits } from "../contract/limits.ts";
import { messages } from "../contract/messages.ts";
import { badRequest, Problem, validationFailed, type FieldProblem } from "../contract/problem.ts";
import { humanize, isBlank } from "../contract/text.ts";
import { mostKeylessBytes } from "../network/keyless-bodies.ts";
import { coerceFields } from "./coerce-fields.ts";
import { listIgnored } from "./list-ignored.ts";
import { nameApps } from "./name-apps.ts";
import { unwrapFields } from "./unwrap-fields.ts";

export type ReadBody = {
  readonly body: unknown;
  /** The names of what was sent and says nothing here. */
  readonly ignored: readonly string[];
  /** The fields of a wrong type, which the body lacks. */
  readonly faults: readonly FieldProblem[];
};

/**
 * From the bytes of a request to the fields of an endpoint's body: content type, size, JSON,
 * wrapper, names, required parameters, then types. From here on it makes no difference in which
 * form they were sent. Rules of content come later, in the handlers.
 */
export async function readBody(
  request: CarriedRequest,
  endpoint: Endpoint,
  schema: z.ZodObject,
): Promise<ReadBody> {
  const text = await readText(request, endpoint);
  const isLeftOut = text === "" && endpoint.body_optional === true;
  const sent = unwrapFields(isLeftOut ? {} : parseJson(text), endpoint);
  const fields = nameApps(sent.fields, endpoint);
  for (const name of endpoint.required ?? []) {
    if (isBlank(fields[name])) throw badRequest(messages.parameter_missing(name));
  }
  const ignored = listIgnored({ ...sent, fields }, endpoint);
  const parsed = schema.safeParse(coerceFields(fields, schema));
  if (parsed.success) return { body: parsed.data, ignored, faults: [] };
  const { issues } = parsed.error;
  const faults = issues.map(describeIssue);
  const rest = schema.safeParse(coerceFields(issues.reduce(dropFaulty, fields), schema));
  if (rest.success) return { body: rest.data, ignored, faults };
  throw validationFailed(faults, endpoint.validation_key);
}

/** Drops the named field that an issue is about; a list with a faulty item is dropped whole. */
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

/** An empty text is a body that was left out, and could be: then it needs no type either. */
async function readText(
  { headers, body = "" }: CarriedRequest,
  endpoint: Endpoint,
): Promise<string> {
  const type = headers["content-type"] ?? "";
  const isJson = /^application\/json\s*(;|$)/i.test(type);
  const isOptional = endpoint.body_optional === true;
  if (!isJson && !(isOptional && type === "")) throw refuseType(type, endpoint);
  const isKeyless = endpoint.auth === "none" || endpoint.auth === "client";
  const sender = isKeyless ? "keyless" : "holder";
  const isThere = typeof body === "string";
  if (isThere && Buffer.byteLength(body) > most_bytes[sender]) throw bodyTooLarge(sender);
  const text = isThere ? body : await body(sender);
  if (!isJson && text !== "") throw badRequest(messages.content_type);
  return text;
}

/** Whoever sends a form is shown what to send in its place. */
function refuseType(type: string, { body, wrapper }: Endpoint): Problem {
  const isForm = /^(application\/x-www-form-urlencoded|multipart\/form-data)\s*(;|$)/i.test(type);
  const [name = ""] = Object.keys(body?.shape ?? {});
  const fields = { [name]: "…" };
  const example = JSON.stringify(wrapper === undefined ? fields : { [wrapper]: fields });
  return badRequest(isForm ? messages.form_refused(example) : messages.content_type);
}

const most_bytes = { keyless: mostKeylessBytes, holder: limits.body_bytes } as const;

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
