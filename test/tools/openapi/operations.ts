import { budgets } from "../../../src/contract/limits.ts";
import { idParameter, listMethods, type Endpoint } from "../../../src/contract/endpoint.ts";
import type { JsonObject } from "../../../src/contract/json.ts";
import { links } from "../../../src/contract/links.ts";
import type { Role } from "../../../src/contract/rights.ts";
import { describeErrors } from "./errors.ts";
import { requestExamples, responseExamples } from "./examples.ts";
import { own } from "./field-notes.ts";
import { describeParameters } from "./parameters.ts";
import { findName, readProperties, refer } from "./schemas.ts";

/** Describes each endpoint of the API as an OpenAPI operation. */

export type Schemas = Readonly<Record<string, JsonObject>>;

export function describeOperations(endpoint: Endpoint, tag: string, schemas: Schemas): JsonObject {
  // HEAD works like GET without a body, at every path.
  const methods = listMethods(endpoint).filter((method) => method !== "HEAD");
  return Object.fromEntries(
    methods.map((method) => [
      method.toLowerCase(),
      describeOperation({ endpoint, method, tag, schemas }),
    ]),
  );
}

/** `/links/{id}` */
export function writePath({ path }: Endpoint): string {
  return path.replace(idParameter, "{id}");
}

type OperationParts = {
  readonly endpoint: Endpoint;
  readonly method: string;
  readonly tag: string;
  readonly schemas: Schemas;
};

function describeOperation({ endpoint, method, tag, schemas }: OperationParts): JsonObject {
  const parameters = describeParameters(endpoint);
  const isPut = method === "PUT";
  const body = describeBody(endpoint, schemas);
  return {
    operationId: isPut ? `${endpoint.tool}_by_put` : endpoint.tool,
    tags: [tag],
    summary: endpoint.title,
    description: listSentences(endpoint, isPut).join(" "),
    security: describeSecurity(endpoint),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: body }),
    responses: { ...describeSuccess(endpoint), ...describeErrors(endpoint) },
    ...listMarks(endpoint, isPut),
  };
}

/** Facts about the operation for programs, beyond OpenAPI's own fields. */
function listMarks(endpoint: Endpoint, isPut: boolean): JsonObject {
  const { auth, scope, role, plan, budget, hidden, documented, tool } = endpoint;
  const isOwn = isOwnEndpoint(endpoint) || (isPut && endpoint.patch_only === true);
  return {
    "x-key": auth,
    ...(scope !== undefined && { "x-scope": scope }),
    ...(role !== undefined && { "x-role": role }),
    ...(plan !== undefined && { "x-plan": plan }),
    ...(budget !== undefined && { "x-rate-limit": describeBudget(budget) }),
    ...(hidden !== true && { "x-tool": tool }),
    ...(isOwn && own),
    ...(documented === false && !isOwn && { "x-waypost-path": true }),
  };
}

function describeBudget(name: keyof typeof budgets): JsonObject {
  const { limit, window_ms } = budgets[name];
  return { name, requests: limit, seconds: window_ms / 1000 };
}

/** Other undocumented paths belong to operations that the specification has. */
export function isOwnEndpoint({ documented, hidden }: Endpoint): boolean {
  return documented === false && hidden === true;
}

const keys = {
  project: "Needs a project key.",
  master: "Needs a master key.",
  client: "Needs a client key.",
  none: "Needs no key.",
} as const;

const roleNames: Readonly<Record<Role, string>> = {
  viewer: "Viewer",
  manager: "Manager or Owner",
  owner: "Owner",
};

function listSentences(endpoint: Endpoint, isPut: boolean): readonly string[] {
  const { summary, auth, scope, overwrite_scope, link_scope, role, plan, budget } = endpoint;
  const isGuess = endpoint.documented === false && !isOwnEndpoint(endpoint);
  return [
    summary,
    ...(isPut ? ["The same as PATCH."] : []),
    ...(summary.includes(keys[auth]) ? [] : [keys[auth]]),
    ...(scope === undefined ? [] : [`Needs the scope \`${scope}\`.`]),
    ...(overwrite_scope === undefined
      ? []
      : [`Also needs \`${overwrite_scope}\` if the path exists.`]),
    ...(link_scope === undefined ? [] : [`Also needs \`${link_scope}\` with \`link_id\`.`]),
    ...(endpoint.body === links.create.body
      ? ["Registering an app also needs `ios_apps.create` or `android_apps.create`."]
      : []),
    ...(role === undefined ? [] : [`The key's owner needs the ${roleNames[role]} role.`]),
    ...(plan === undefined ? [] : ["Needs the Pro plan."]),
    ...(budget === undefined
      ? []
      : [
          `At most ${budgets[budget].limit} requests a minute for each key, across all ` +
            `endpoints with the limit \`${budget}\`.`,
        ]),
    ...(isOwnEndpoint(endpoint) ? ["Only Waypost has this endpoint."] : []),
    ...(isGuess ? ["Waypost chose this path; other servers may use another one."] : []),
  ];
}

/** The scope is given as the role of the key, as OpenAPI 3.1 allows for keys. */
function describeSecurity({ auth, scope }: Endpoint): readonly JsonObject[] {
  const scopes = scope === undefined ? [] : [scope];
  if (auth === "none") return [];
  if (auth === "client") return [{ ClientKey: [] }];
  return [{ Token: scopes }, { Bearer: scopes }, { ApiKeyParameter: scopes }];
}

function describeBody(endpoint: Endpoint, schemas: Schemas): JsonObject | undefined {
  const { body, body_optional, wrapper, optional_wrapper, tool } = endpoint;
  const { required = [], needed = [], needed_here = [] } = endpoint;
  if (body === undefined) return undefined;
  const name = findName(body);
  const demanded = [...required, ...needed, ...needed_here];
  const fields = demanded.length === 0 ? { $ref: refer(name) } : demand(demanded, name, schemas);
  const schema =
    wrapper !== undefined
      ? wrap(wrapper, fields)
      : optional_wrapper === undefined
        ? fields
        : { anyOf: [fields, { ...wrap(optional_wrapper, fields), ...own }] };
  return {
    required: body_optional !== true,
    content: { "application/json": { schema, example: requestExamples[tool] } },
  };
}

function wrap(name: string, fields: JsonObject): JsonObject {
  return { type: "object", required: [name], properties: { [name]: fields } };
}

/** The schema with some fields required and not null. */
function demand(names: readonly string[], body: string, schemas: Schemas): JsonObject {
  const fields = readProperties(schemas[body]);
  const demanded = names.map((name) => {
    const type = fields[name]?.["type"];
    return [name, { type: Array.isArray(type) ? type[0] : type }] as const;
  });
  const properties = Object.fromEntries(demanded);
  return { allOf: [{ $ref: refer(body) }, { type: "object", required: names, properties }] };
}

function describeSuccess(endpoint: Endpoint): JsonObject {
  const { response, type, body, list } = endpoint;
  const { status, also } = endpoint.success;
  const content = describeContent(response, type);
  const canIgnore = body !== undefined || list !== undefined;
  const headers = canIgnore
    ? { headers: { Warning: { $ref: "#/components/headers/Warning" } } }
    : {};
  const describe = (description: string) => ({ description, ...headers, ...content });
  const words = status === 201 ? "Created." : status === 204 ? "Deleted. No body." : "Done.";
  return {
    [status]: describe(also === undefined ? words : "It existed and was updated."),
    ...(also !== undefined && { [also]: describe("Created.") }),
  };
}

function describeContent(response: Endpoint["response"], type: Endpoint["type"]): JsonObject {
  if (response === null) return {};
  if (type !== undefined) {
    return { content: { [type]: { schema: { type: "string" }, example: "<!doctype html>…" } } };
  }
  const name = findName(response);
  const example = responseExamples[name];
  return {
    content: {
      "application/json": {
        schema: { $ref: refer(name) },
        ...(example !== undefined && { example }),
      },
    },
  };
}
