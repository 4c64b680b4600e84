import { readApiDescription } from "../../help/help-topics.ts";
import { html, type Html, type Part } from "../html.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderCard, renderList, showMissing } from "../parts.ts";

/** The REST API, from the same OpenAPI document that the server and the CLI return. */
export const apiPage: Page = {
  path: /^\/api(?:\/(?<group>[a-z-]+))?$/,
  show: async (visit) => {
    // The build writes this document.
    const api = JSON.parse(await readApiDescription()) as Api;
    const { group } = visit.params;
    return group === undefined ? showGroups(api, visit) : showGroup(api, group);
  },
};

type Api = {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, Schema & ApiResponse>>>>;
};

type DescribedOperation = {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly description: string;
    readonly required?: boolean;
    readonly schema: Schema;
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

type Operation = DescribedOperation & { readonly methods: string; readonly path: string };

function showGroups(api: Api, { account }: Visit): Reply {
  const document = account.isOwn
    ? html`<p class="soft">
        The API is at <code>/api/v1</code>. Its OpenAPI 3.1 description is at
        <a href="/api/v1/openapi.json">/api/v1/openapi.json</a>, and
        <code>waypost openapi</code> prints it.
      </p>`
    : html`<p class="soft"><code>waypost openapi</code> prints this as an OpenAPI document.</p>`;
  const cards = api.tags.map(({ name, description }) => {
    const address = `/api/${writeSlug(name)}`;
    const rows = listOperations(api, name).map((operation) => {
      const { methods, path, operationId, summary } = operation;
      return html`<li>
        <p>
          <a href="${address}#${operationId}">${methods} ${path}</a>
          <span class="soft">${nameAccess(operation)}</span>
        </p>
        <p>${summary}</p>
      </li>`;
    });
    return renderCard(name, {
      heading: html`<a href="${address}">${name}</a>`,
      inside: [html`<p>${renderText(description)}</p>`, renderList(rows)],
    });
  });
  const above = { name: "Help", address: "/help" };
  return { kind: "page", title: "API", above, body: [document, cards] };
}

function showGroup(api: Api, slug: string): Reply {
  const tag = api.tags.find(({ name }) => writeSlug(name) === slug);
  if (tag === undefined) {
    const why = "The API has no group with this name.";
    return showMissing("part of the API", why, { name: "endpoints", address: "/api" });
  }
  const body = listOperations(api, tag.name).map((operation) => renderOperation(api, operation));
  return { kind: "page", title: tag.name, above: { name: "API", address: "/api" }, body };
}

/** PATCH and PUT are the same, so they are shown once. */
function listOperations({ paths }: Api, tag: string): readonly Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, described]) => {
      if (method === "put" || !described.tags.includes(tag)) return [];
      const shown = method === "patch" ? "PATCH, PUT" : method.toUpperCase();
      return [{ ...described, methods: shown, path }];
    }),
  );
}

function nameAccess({ "x-scope": scope, "x-key": key = "" }: DescribedOperation): string {
  const keys: Readonly<Record<string, string>> = {
    master: "master key",
    client: "client key",
    none: "no key",
  };
  return scope || (keys[key] ?? "any");
}

function renderOperation(api: Api, operation: Operation): Html {
  const { operationId, methods, path, description, parameters = [] } = operation;
  const { [json]: body = {} } = operation.requestBody?.content ?? {};
  const [response] = Object.values(operation.responses);
  const rows = parameters.map(({ name, in: place, required: isRequired = false, ...schema }) =>
    renderField({ name, type: `${place}, ${nameType(schema.schema)}`, isRequired, schema }),
  );
  return renderCard(`${methods} ${path}`, {
    id: operationId,
    inside: [
      html`<p>${renderText(description)}</p>`,
      renderPart("Parameters", rows),
      renderPart("Body", listFields(api, body.schema ?? {}).map(renderField)),
      renderExample("Example of a body", body),
      renderPart("Responses", listResponses(api, operation)),
      renderExample("Example of a response", response?.content?.[json] ?? {}),
    ],
  });
}

function renderPart(title: string, rows: readonly Html[]): Part {
  return rows.length > 0 && [html`<h3>${title}</h3>`, renderList(rows)];
}

const json = "application/json";

type SchemaField = {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  /** Has the description and the marks. */
  readonly schema: Schema;
};

function renderField({ name, type, isRequired, schema }: SchemaField): Html {
  return html`<li>
    <p><code>${name}</code> <span class="soft">${type}${isRequired && ", required"}</span></p>
    <p>
      ${renderText(schema.description)}${
        schema["x-waypost-own"] && " Only Waypost servers have this field."
      }
    </p>
  </li>`;
}

/** The fields of a body; those in a wrapper have its name in front. */
function listFields(api: Api, schema: Schema, wrapper = ""): readonly SchemaField[] {
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

function listResponses(api: Api, { responses }: DescribedOperation): readonly Html[] {
  return Object.entries(responses).map(([status, given]) => {
    const { description, content = {} } = resolve(api, given);
    const [[type, { schema }] = ["none", {} as Media]] = Object.entries(content);
    return html`<li>
      <p>
        <code>${status}</code> <span class="soft">${schema?.$ref?.split("/").at(-1) || type}</span>
      </p>
      <p>${renderText(description)}</p>
    </li>`;
  });
}

function renderExample(title: string, { example }: Media): Part {
  return (
    example !== undefined &&
    html`<details>
      <summary>${title}</summary>
      <pre class="wrap">${JSON.stringify(example, null, 2)}</pre>
    </details>`
  );
}

/** Renders Markdown. The descriptions use only its code spans. */
function renderText(text = ""): Part {
  return text
    .split("`")
    .map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

/** `ios-apps`, of "iOS apps" */
function writeSlug(name: string): string {
  return name.toLowerCase().replaceAll(" ", "-");
}
