import { andThen } from "../../src/contract/waiting.ts";
import type { AnswerApi } from "../../src/contract/api-message.ts";
import * as plain from "../../src/service/service.ts";
import { Ajv2020, type Options, type ValidateFunction } from "ajv/dist/2020.js";
import { uuidPattern } from "../../src/contract/fields.ts";
import { apiPrefix } from "../../src/contract/index.ts";
import { isJsonObject, type JsonObject } from "../../src/contract/json.ts";
import { describeApi } from "../tools/openapi/openapi.ts";

/** Use this for a service whose exchanges are all checked against the OpenAPI document. */

export const createService: typeof plain.createService = (options) => {
  const service = plain.createService(options);
  return { ...service, answer: checkEach(service.answer) };
};

function checkEach(answer: AnswerApi): AnswerApi {
  return (request) => {
    // `onlyBudget` exists only within this process, so the document does not describe it.
    if (request.onlyBudget === true) return answer(request);
    const { method, url, body } = request;
    let sent = typeof body === "string" ? body : "";
    const read = async (sender: "keyed" | "keyless") =>
      (sent = typeof body === "function" ? await body(sender) : sent);
    const noted = typeof body === "function" ? { ...request, body: read } : request;
    return andThen(answer(noted), (reply) => {
      checkExchange({ method, url, body: sent }, reply);
      return reply;
    });
  };
}

type SentRequest = { readonly method: string; readonly url: string; readonly body: string };

type ApiResult = {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: unknown;
};

export async function fetchDescribed(request: Request): Promise<Response> {
  const { method, url } = request;
  const body = await request.clone().text();
  const response = await fetch(request);
  const { status, headers } = response;
  const text = await response.clone().text();
  checkText({ method, url, body }, { status, headers: Object.fromEntries(headers), text });
  return response;
}

type ReceivedText = Omit<ApiResult, "body"> & { readonly text: string };

export function checkText(sent: SentRequest, { status, headers, text }: ReceivedText): void {
  if (!new URL(sent.url).pathname.startsWith(apiPrefix)) return;
  const isData = headers["content-type"] === "application/json";
  const body = text === "" ? null : isData ? JSON.parse(text) : text;
  checkExchange(sent, { status, headers, body });
}

export function checkExchange({ method, url, body }: SentRequest, received: ApiResult): void {
  const { pathname, searchParams } = new URL(url);
  const member = method === "HEAD" ? "get" : method.toLowerCase();
  const path = findPath(pathname, member);
  const operation = operations[path]?.[member];
  const name = `${method} ${path === "" ? pathname : path} → ${received.status}`;
  if (operation === undefined) return checkUnknown(name, path !== "", method, received);
  checkResponse(name, operation, method, received);
  if (received.status >= 300) return;
  const compile = received.headers["warning"] === undefined ? closedSchemas : openSchemas;
  checkQuery(name, operation, searchParams, compile);
  checkBody(name, operation, body, compile);
}

type Operation = JsonObject & {
  readonly responses: Readonly<Record<string, JsonObject>>;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: JsonObject;
};
type Parameter = { readonly name: string; readonly in: string; readonly schema: JsonObject };

export const description = describeApi();
// The document is our own, and Redocly checks its form.
const operations = description["paths"] as Readonly<Record<string, Record<string, Operation>>>;
const patterns = Object.keys(operations).map((path) => {
  const start = apiPrefix + path.replace(/\.json$/, "").replace("{id}", "[^/]+");
  return { path, pattern: new RegExp(`^${start}(\\.json)?/?$`) };
});

/** The matching path of the document, preferably with the method, or an empty text. */
function findPath(pathname: string, member: string): string {
  const matching = patterns
    .filter(({ pattern }) => pattern.test(decode(pathname)))
    .toSorted((one, other) => one.path.indexOf("{") - other.path.indexOf("{"));
  const having = matching.find(({ path }) => operations[path]?.[member] !== undefined);
  return (having ?? matching[0])?.path ?? "";
}

function decode(pathname: string): string {
  try {
    return decodeURI(pathname);
  } catch {
    return pathname;
  }
}

/** Paths and methods that are not in the document are refused in the same form. */
function checkUnknown(name: string, isPath: boolean, method: string, received: ApiResult): void {
  if (method === "OPTIONS" && received.status === 204) return;
  const expected = isPath ? 405 : 404;
  if (received.status !== expected) fail(name, `expected ${expected}`);
  if (method === "HEAD") return;
  check(name, responseSchemas({ $ref: "#/components/schemas/Error" }), received.body);
}

function checkResponse(
  name: string,
  operation: Operation,
  method: string,
  { status, headers, body }: ApiResult,
): void {
  const response = operation.responses[status];
  if (response === undefined) return fail(name, "the status is not described");
  const { content } = resolve(response);
  if (content === undefined || method === "HEAD") {
    if (body !== null) fail(name, "a body is not described");
    return;
  }
  const type = String(headers["content-type"]).split(";")[0] ?? "";
  const described = isJsonObject(content) ? content[type] : undefined;
  if (!isJsonObject(described)) return fail(name, `the type "${type}" is not described`);
  // Members that are undefined are not sent.
  check(name, responseSchemas(described["schema"]), JSON.parse(JSON.stringify(body)));
}

/** `q[name]` is a member of the object `q`, and `q[name][]` a list in it. */
function checkQuery(
  name: string,
  operation: Operation,
  query: URLSearchParams,
  compile: Compile,
): void {
  for (const { name: parameter, in: place, schema } of operation.parameters ?? []) {
    if (place !== "query") continue;
    const value =
      schema["type"] === "object" ? readGroup(parameter, query) : query.getAll(parameter).at(-1);
    if (value === undefined) continue;
    // Numbers in an address are texts.
    const given = schema["type"] === "integer" ? Number(value) : value;
    check(`${name}, parameter ${parameter}`, compile(schema), given);
  }
}

function readGroup(letter: string, query: URLSearchParams): JsonObject {
  const group: Record<string, unknown> = {};
  for (const [key, value] of query) {
    const [, first, name = "", list] = /^(\w)\[([^[\]]+)\](\[\d*\])?$/.exec(key) ?? [];
    if (first !== letter) continue;
    const before = group[name];
    if (list === undefined) group[name] = value;
    else if (value.trim() !== "") group[name] = [...(Array.isArray(before) ? before : []), value];
  }
  // The last value counts. A filter without a value has no effect, whatever its name.
  for (const [name, value] of Object.entries(group)) {
    if (typeof value === "string" && value.trim() === "") delete group[name];
  }
  return group;
}

function checkBody(name: string, { requestBody }: Operation, text: string, compile: Compile): void {
  if (requestBody === undefined) return;
  if (text === "") {
    if (requestBody["required"] === true) fail(name, "the body is missing");
    return;
  }
  const { content } = requestBody as { readonly content: Readonly<Record<string, JsonObject>> };
  const validate = compile(content["application/json"]?.["schema"]);
  check(`${name}, body`, validate, JSON.parse(text, readFlag));
}

/** Flags may be sent as texts in any case. The validator knows the other forms. */
function readFlag(_: string, value: unknown): unknown {
  const [, yes, no] =
    /^(?:(true|1)|(false|0))$/i.exec(typeof value === "string" ? value : "") ?? [];
  return yes !== undefined || no !== undefined ? yes !== undefined : value;
}

function resolve(response: JsonObject): JsonObject {
  const name = String(response["$ref"]).split("/").at(-1) ?? "";
  return shared[name] ?? response;
}

type Components = Readonly<Record<"schemas" | "responses", Readonly<Record<string, JsonObject>>>>;
const { schemas, responses: shared } = description["components"] as Components;

type Compile = (schema: unknown) => ValidateFunction;

/** A response must not have members that the document does not name. */
const responseSchemas = createCompiler(forbidMore);
/** Requests must not either, unless a warning names them. Numbers and flags may be texts. */
const closedSchemas = createCompiler(forbidMore, { coerceTypes: true });
const openSchemas = createCompiler((schema) => schema, { coerceTypes: true });

/** Each schema is compiled once. */
function createCompiler(prepare: (schema: unknown) => unknown, options: Options = {}): Compile {
  const ajv = new Ajv2020({ strict: false, allErrors: true, ...options });
  ajv.addFormat("uuid", uuidPattern);
  ajv.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  ajv.addSchema({ $id: "api", components: { schemas: prepare(schemas) } });
  const compiled = new Map<unknown, ValidateFunction>();
  return (schema) => {
    const known = compiled.get(schema);
    if (known !== undefined) return known;
    const text = JSON.stringify(prepare(schema)).replaceAll('"#/components/', '"api#/components/');
    const validate = ajv.compile(JSON.parse(text));
    compiled.set(schema, validate);
    return validate;
  };
}

/** The same schema, which allows only the fields that it names. */
function forbidMore(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(forbidMore);
  if (!isJsonObject(schema)) return schema;
  const members = Object.entries(schema).map(([name, member]) => {
    // The parts of an `allOf` may have more members; the schema that combines them closes them.
    return [name, name === "allOf" || name === "ApiDescription" ? member : forbidMore(member)];
  });
  const isObject = schema["type"] === "object" && isJsonObject(schema["properties"]);
  return { ...Object.fromEntries(members), ...(isObject && { additionalProperties: false }) };
}

function check(name: string, validate: ValidateFunction, value: unknown): void {
  if (validate(value)) return;
  const faults = (validate.errors ?? []).map(({ instancePath, message, params }) => {
    return `${instancePath} ${message} ${JSON.stringify(params)}`;
  });
  fail(name, `${faults.join("; ")} in ${JSON.stringify(value).slice(0, 1000)}`);
}

function fail(name: string, fault: string): never {
  throw new Error(`${name} is not as the OpenAPI document describes it: ${fault}`);
}
