import type { z } from "zod";
import type { CarriedRequest } from "../contract/api-message.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { limits } from "../contract/limits.ts";
import { messages } from "../contract/messages.ts";
import { badRequest, Problem, validationFailed, type FieldProblem } from "../contract/problem.ts";
import { humanize, isBlank } from "../contract/text.ts";

/**
 * From the bytes of a request to the fields of an endpoint's body: content type, size, JSON,
 * wrapper, required parameters, then types. Rules of content come later, in the handlers.
 */
export async function readBody(request: CarriedRequest, endpoint: Endpoint): Promise<unknown> {
  if (endpoint.body === undefined) return {};
  const text = await readText(request, endpoint.body_optional === true);
  const isLeftOut = text === "" && endpoint.body_optional === true;
  const json = isLeftOut ? {} : parseJson(text);
  const fields = unwrap(json, endpoint.wrapper);
  for (const name of endpoint.required ?? []) {
    if (isBlank(fields[name])) throw badRequest(messages.parameter_missing(name));
  }
  const parsed = endpoint.body.safeParse(fields);
  if (parsed.success) return parsed.data;
  throw validationFailed(parsed.error.issues.map(describeIssue), endpoint.validation_key);
}

/** An empty text is a body that was left out, and could be: then it needs no type either. */
async function readText(
  { headers, body = "" }: CarriedRequest,
  isOptional: boolean,
): Promise<string> {
  const type = headers["content-type"] ?? "";
  const isJson = /^application\/json\s*(;|$)/i.test(type);
  if (!isJson && !(isOptional && type === "")) throw badRequest(messages.content_type);
  const isThere = typeof body === "string";
  if (isThere && Buffer.byteLength(body) > limits.body_bytes) throw bodyTooLarge();
  const text = isThere ? body : await body();
  if (!isJson && text !== "") throw badRequest(messages.content_type);
  return text;
}

export function bodyTooLarge(): Problem {
  return new Problem(413, messages.body_too_large);
}

function parseJson(text: string): Record<string, unknown> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw badRequest(messages.body_invalid);
  }
  if (!isObject(json)) throw badRequest(messages.body_not_object);
  return json;
}

function unwrap(json: Record<string, unknown>, wrapper: string | undefined) {
  if (wrapper === undefined) return json;
  const fields = Object.hasOwn(json, wrapper) ? json[wrapper] : undefined;
  if (!isObject(fields)) throw badRequest(messages.parameter_missing(wrapper));
  return fields;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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
