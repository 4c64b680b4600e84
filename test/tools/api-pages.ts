import { describeApi } from "./openapi/openapi.ts";

/** The help pages about the REST API, which the build writes next to the pages of docs/. */

type HelpPage = { readonly name: string; readonly text: string };

type Api = {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, Schema & ApiResponse>>>>;
};

type Operation = {
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly description: string;
    readonly required?: boolean;
    readonly schema: Schema;
    readonly "x-waypost-own"?: boolean;
  }[];
  readonly requestBody?: ApiResponse;
  readonly responses: Readonly<Record<string, ApiResponse & Schema>>;
  readonly "x-scope"?: string;
  readonly "x-key"?: string;
};

type ApiResponse = {
  readonly description?: string;
  readonly content?: Readonly<Record<string, Media>>;
};

type Media = { readonly schema?: Schema; readonly example?: unknown };

type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly [fields: Schema, required: Schema];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly "x-waypost-own"?: boolean;
};

export function writeApiPages(): readonly HelpPage[] {
  // The document has these members.
  const api = describeApi() as unknown as Api;
  const groups = api.tags.map(({ name, description }) => ({ name, description, slug: slug(name) }));
  const lists = groups.map(({ name, description, slug }) => {
    const rows = listOperations(api, name).map(([title, operation]) => {
      const link = `[${title}](api/${slug}.md#${anchor(title)})`;
      return `| ${link} | ${nameAccess(operation)} | ${operation.summary} |`;
    });
    const table = ["| endpoint | scope | does |", "| --- | --- | --- |", ...rows].join("\n");
    return `## [${name}](api/${slug}.md)\n\n${description}\n\n${table}`;
  });
  const pages = groups.map(({ name, slug }) => {
    const parts = listOperations(api, name).map(([title, each]) =>
      writeOperation(api, title, each),
    );
    return { name: `api/${slug}`, text: `# API: ${name}\n\n${parts.join("\n\n")}\n` };
  });
  return [{ name: "api", text: `# API\n\n${introduction}\n\n${lists.join("\n\n")}\n` }, ...pages];
}

const introduction =
  "The API of a Waypost server is at `/api/v1`. Its OpenAPI 3.1 description is at " +
  "`/api/v1/openapi.json`, and `waypost openapi` prints it.";

/** PATCH and PUT are the same, so they are shown once. */
function listOperations({ paths }: Api, tag: string): readonly (readonly [string, Operation])[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      if (method === "put" || !operation.tags.includes(tag)) return [];
      const shown = method === "patch" ? "PATCH, PUT" : method.toUpperCase();
      return [[`${shown} ${path}`, operation] as const];
    }),
  );
}

function nameAccess({ "x-scope": scope, "x-key": key = "" }: Operation): string {
  const keys: Readonly<Record<string, string>> = {
    master: "master key",
    client: "client key",
    none: "no key",
  };
  return scope ? `\`${scope}\`` : (keys[key] ?? "any key");
}

function writeOperation(api: Api, title: string, operation: Operation): string {
  const { [json]: body = {} } = operation.requestBody?.content ?? {};
  const [response] = Object.values(operation.responses);
  const parameters = (operation.parameters ?? []).map((parameter) =>
    writeField({
      name: parameter.name,
      type: `${parameter.in}, ${nameType(parameter.schema)}`,
      isRequired: parameter.required === true,
      schema: parameter,
    }),
  );
  const parts = [
    `## ${title}\n\n${operation.description}`,
    writeList("Parameters", parameters),
    writeList("Body", listFields(api, body.schema ?? {}).map(writeField)),
    writeExample("Example of a body", body),
    writeList("Responses", listResponses(api, operation)),
    writeExample("Example of a response", response?.content?.[json] ?? {}),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

const json = "application/json";

function writeList(title: string, rows: readonly string[]): string {
  return rows.length === 0 ? "" : `**${title}**\n\n${rows.join("\n")}`;
}

function writeExample(title: string, { example }: Media): string {
  if (example === undefined) return "";
  return `**${title}**\n\n\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``;
}

type Field = {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly schema: Pick<Schema, "description" | "x-waypost-own">;
};

function writeField({ name, type, isRequired, schema }: Field): string {
  const own = schema["x-waypost-own"] === true ? " Only Waypost servers have this field." : "";
  const required = isRequired ? ", required" : "";
  return `- \`${name}\` (${type}${required}): ${schema.description ?? ""}${own}`;
}

/** The fields of a body; those in a wrapper have its name in front. */
function listFields(api: Api, schema: Schema, wrapper = ""): readonly Field[] {
  const [plain] = schema.anyOf ?? [];
  if (plain !== undefined) return listFields(api, plain, wrapper);
  const [fields = schema, demanded = {}] = schema.allOf ?? [];
  const whole = resolve(api, fields);
  const required = new Set([schema, whole, demanded].flatMap((part) => part.required ?? []));
  return Object.entries(whole.properties ?? {}).flatMap(([name, member]) => {
    const isRequired = required.has(name);
    const isWrapper = isRequired && (member.$ref !== undefined || member.allOf !== undefined);
    if (isWrapper) return listFields(api, member, `${name}.`);
    const type = nameType({ ...member, ...demanded.properties?.[name] });
    return [{ name: wrapper + name, type, isRequired, schema: member }];
  });
}

function resolve<Part extends Schema>(
  { components }: Api,
  part: Part,
): Part | (Schema & ApiResponse) {
  const [, group = "", name = ""] = /^#\/components\/(\w+)\/(\w+)$/.exec(part.$ref ?? "") ?? [];
  return components[group]?.[name] ?? part;
}

/** "string or null" */
function nameType({ anyOf = [], $ref, type = "any" }: Schema): string {
  if (anyOf.length > 0) return anyOf.map(nameType).join(" or ");
  if ($ref !== undefined) return "object";
  return typeof type === "string" ? type : type.join(" or ");
}

function listResponses(api: Api, { responses }: Operation): readonly string[] {
  return Object.entries(responses).map(([status, given]) => {
    const { description = "", content = {} } = resolve(api, given);
    const [[type, { schema }] = ["none", {} as Media]] = Object.entries(content);
    return `- \`${status}\` (${schema?.$ref?.split("/").at(-1) ?? type}): ${description}`;
  });
}

/** `ios-apps` for "iOS apps". */
function slug(name: string): string {
  return name.toLowerCase().replaceAll(" ", "-");
}

/** The anchor that `writeDocs` gives a heading. */
function anchor(title: string): string {
  return slug(title.replace(/[^\w\- ]/g, ""));
}
