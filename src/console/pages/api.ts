import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { readApiDescription } from "../../help/api-description.ts";
import { html, type Html } from "../html.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderHead, showMissing } from "../parts.ts";
import { readRecord, readRecords, readText } from "../read.ts";

/** The REST API, from the same OpenAPI document that the server and the CLI return. */
export const apiPage: Page = {
  path: /^\/api(?:\/(?<group>[a-z-]+))?$/,
  show: async (visit) => {
    const api = JSON.parse(await readApiDescription()) as JsonObject;
    const { group } = visit.params;
    return group === undefined ? showGroups(api, visit) : showGroup(api, group);
  },
};

type Operation = {
  readonly id: string;
  readonly methods: string;
  readonly path: string;
  readonly described: JsonObject;
};

function showGroups(api: JsonObject, { account }: Visit): Reply {
  const document = account.isOwn
    ? html`<p class="soft">
        The API is at <code>/api/v1</code>. Its OpenAPI 3.1 description is at
        <a href="/api/v1/openapi.json">/api/v1/openapi.json</a>, and
        <code>waypost openapi</code> prints it.
      </p>`
    : html`<p class="soft"><code>waypost openapi</code> prints this as an OpenAPI document.</p>`;
  const cards = readRecords(api, "tags").map((tag) => {
    const name = readText(tag, "name");
    const slug = writeSlug(name);
    const rows = listOperations(api, name).map(
      ({ id, methods, path, described }) =>
        html`<li>
          <p>
            <a href="/api/${slug}#${id}">${methods} ${path}</a>
            <span class="soft">${nameAccess(described)}</span>
          </p>
          <p>${readText(described, "summary")}</p>
        </li>`,
    );
    return html`<section class="card" aria-labelledby="${slug}">
      <h2 id="${slug}"><a href="/api/${slug}">${name}</a></h2>
      <div class="inside">
        <p>${renderText(readText(tag, "description"))}</p>
        ${renderList(rows)}
      </div>
    </section>`;
  });
  const head = renderHead("API", { name: "Help", address: "/help" });
  return { kind: "page", title: "API", body: html`${head} ${document} ${cards}` };
}

function showGroup(api: JsonObject, slug: string): Reply {
  const tag = readRecords(api, "tags").find((each) => writeSlug(readText(each, "name")) === slug);
  if (tag === undefined) {
    const why = "The API has no group with this name.";
    return showMissing({ thing: "part of the API", why }, { name: "endpoints", address: "/api" });
  }
  const name = readText(tag, "name");
  const cards = listOperations(api, name).map((operation) => renderOperation(api, operation));
  const head = renderHead(name, { name: "API", address: "/api" });
  return { kind: "page", title: name, body: html`${head} ${cards}` };
}

/** PATCH and PUT are the same, so they are shown once. */
function listOperations(api: JsonObject, tag: string): readonly Operation[] {
  return Object.entries(readRecord(api, "paths")).flatMap(([path, methods]) =>
    Object.entries(isJsonObject(methods) ? methods : {}).flatMap(([method, described]) => {
      if (!isJsonObject(described) || method === "put") return [];
      const tags = described["tags"];
      if (!Array.isArray(tags) || !tags.includes(tag)) return [];
      const shown = method === "patch" ? "PATCH, PUT" : method.toUpperCase();
      return [{ id: readText(described, "operationId"), methods: shown, path, described }];
    }),
  );
}

function nameAccess(described: JsonObject): string {
  const keys: Readonly<Record<string, string>> = {
    master: "master key",
    client: "client key",
    none: "no key",
  };
  return readText(described, "x-scope") || (keys[readText(described, "x-key")] ?? "any");
}

function renderOperation(api: JsonObject, { id, methods, path, described }: Operation): Html {
  const content = readRecord(readRecord(readRecord(described, "requestBody"), "content"), json);
  const fields = listFields(api, readRecord(content, "schema"));
  const parameters = readRecords(described, "parameters").map((parameter) =>
    renderField({
      name: readText(parameter, "name"),
      type: `${readText(parameter, "in")}, ${nameType(readRecord(parameter, "schema"))}`,
      isRequired: parameter["required"] === true,
      schema: parameter,
    }),
  );
  return html`<section class="card" aria-labelledby="${id}">
    <h2 id="${id}">${methods} ${path}</h2>
    <div class="inside">
      <p>${renderText(readText(described, "description"))}</p>
      ${renderPart("Parameters", parameters)} ${renderPart("Body", fields.map(renderField))}
      ${renderExample("Example of a body", content)}
      ${renderPart("Responses", listResponses(api, described))}
      ${renderExample("Example of a response", readFirstResponse(described))}
    </div>
  </section>`;
}

function renderPart(title: string, rows: readonly Html[]): Html | string {
  return rows.length === 0
    ? ""
    : html`<h3>${title}</h3>
        ${renderList(rows)}`;
}

function renderList(rows: readonly Html[]): Html {
  return html`<ul class="list">
    ${rows}
  </ul>`;
}

const json = "application/json";

type Field = {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  /** Has the description and the marks. */
  readonly schema: JsonObject;
};

function renderField({ name, type, isRequired, schema }: Field): Html {
  const facts = [type, ...(isRequired ? ["required"] : [])].join(", ");
  const note = schema["x-waypost-own"] === true ? " Only Waypost servers have this field." : "";
  return html`<li>
    <p><code>${name}</code> <span class="soft">${facts}</span></p>
    <p>${renderText(readText(schema, "description"))}${note}</p>
  </li>`;
}

/** The fields of a body; those in a wrapper have its name in front. */
function listFields(api: JsonObject, schema: JsonObject, wrapper = ""): readonly Field[] {
  const [plain] = readRecords(schema, "anyOf");
  if (plain !== undefined) return listFields(api, plain, wrapper);
  const [fields, demanded] = readRecords(schema, "allOf");
  const whole = resolve(api, fields ?? schema);
  const required = new Set([schema, whole, demanded ?? {}].flatMap((part) => readNames(part)));
  return Object.entries(readRecord(whole, "properties")).flatMap(([name, member]) => {
    if (!isJsonObject(member)) return [];
    const isRequired = required.has(name);
    const isWrapper = isRequired && (member["$ref"] !== undefined || member["allOf"] !== undefined);
    if (isWrapper) return listFields(api, member, `${name}.`);
    const narrowed = readRecord(readRecord(demanded ?? {}, "properties"), name);
    const type = nameType({ ...member, ...narrowed });
    return [{ name: wrapper + name, type, isRequired, schema: member }];
  });
}

function readNames(schema: JsonObject): readonly unknown[] {
  const names = schema["required"];
  return Array.isArray(names) ? names : [];
}

function resolve(api: JsonObject, schema: JsonObject): JsonObject {
  const [, part, name] = /^#\/components\/(\w+)\/(\w+)$/.exec(readText(schema, "$ref")) ?? [];
  if (part === undefined || name === undefined) return schema;
  return readRecord(readRecord(readRecord(api, "components"), part), name);
}

/** "string or null" */
function nameType(schema: JsonObject): string {
  const type = schema["type"];
  const named = readRecords(schema, "anyOf").map(nameType);
  if (named.length > 0) return named.join(" or ");
  if (schema["$ref"] !== undefined) return "object";
  return Array.isArray(type) ? type.join(" or ") : readText(schema, "type") || "any";
}

function listResponses(api: JsonObject, described: JsonObject): readonly Html[] {
  return Object.entries(readRecord(described, "responses")).map(([status, given]) => {
    const response = resolve(api, isJsonObject(given) ? given : {});
    const [content] = Object.entries(readRecord(response, "content"));
    const [type, media] = content ?? ["none", {}];
    const schema = readRecord(isJsonObject(media) ? media : {}, "schema");
    const body = readText(schema, "$ref").split("/").at(-1) || type;
    return html`<li>
      <p><code>${status}</code> <span class="soft">${body}</span></p>
      <p>${renderText(readText(response, "description"))}</p>
    </li>`;
  });
}

function readFirstResponse(described: JsonObject): JsonObject {
  const [response] = Object.values(readRecord(described, "responses"));
  return readRecord(readRecord(isJsonObject(response) ? response : {}, "content"), json);
}

function renderExample(title: string, { example }: JsonObject): Html | string {
  if (example === undefined) return "";
  const text = JSON.stringify(example, null, 2);
  return html`<details>
    <summary>${title}</summary>
    <pre class="wrap">${text}</pre>
  </details>`;
}

/** Renders Markdown. The descriptions use only its code spans. */
function renderText(text: string): readonly (Html | string)[] {
  return text
    .split("`")
    .map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

/** `ios-apps`, of "iOS apps" */
function writeSlug(name: string): string {
  return name.toLowerCase().replaceAll(" ", "-");
}
