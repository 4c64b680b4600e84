import type { Endpoint } from "../../../src/contract/endpoint.ts";
import { apiPrefix, served, type ServedEndpoints } from "../../../src/contract/index.ts";
import type { JsonObject } from "../../../src/contract/json.ts";
import { limits } from "../../../src/contract/limits.ts";
import { errorResponses, errorSchemas } from "./errors.ts";
import { own } from "./field-notes.ts";
import { describeOperations, writePath, type Schemas } from "./operations.ts";
import { parameterSchemas } from "./parameters.ts";
import { writeSchemas } from "./schemas.ts";

/** The REST API as an OpenAPI 3.1 document. The build writes it to dist/openapi.json. */
export function describeApi(): JsonObject {
  const schemas = writeSchemas();
  return {
    openapi: "3.1.0",
    info: {
      title: "Link Management API",
      version: "1.0.0",
      description: introduction,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: apiPrefix, description: "This server" }],
    tags: [...new Set(Object.values(tags))],
    security: [],
    paths: describePaths(schemas),
    components: {
      schemas: { ...schemas, ...parameterSchemas, ...errorSchemas },
      responses: errorResponses,
      headers: { Warning: warning },
      securitySchemes,
    },
  };
}

const introduction = [
  "Manage dynamic links, short links, apps, projects and page templates.",
  "A key belongs to one project, so no request names a project. A key without scopes has all " +
    "scopes. An operation's `x-scope` is the scope that it needs.",
  "Bodies are JSON. A string may also be sent as a number, and a boolean as a string or as 1 " +
    "or 0. Unknown fields are ignored and listed in the header `Warning`. An existing path " +
    "answers an unsupported method with 405 and `Allow`.",
  `A body has at most ${limits.body_bytes / 1024} KiB. Send \`X-Request-Id\` to find a request ` +
    "in the logs; the response repeats it.",
  "`x-waypost-own` marks what only Waypost servers have. `x-waypost-path` marks a path that " +
    "other servers " +
    "may have at another address.",
].join("\n\n");

type Tag = { readonly name: string; readonly description: string };

const linksTag: Tag = { name: "Links", description: "The project's dynamic links." };

const tags: Readonly<Record<keyof ServedEndpoints, Tag>> = {
  links: linksTag,
  browserPaths: linksTag,
  shortLinks: { name: "Short links", description: "Short paths of links and addresses." },
  linkStats: { name: "Statistics", description: "Clicks, opens and installs of links." },
  iosApps: { name: "iOS apps", description: "The iOS apps that links open." },
  androidApps: { name: "Android apps", description: "The Android apps that links open." },
  projects: { name: "Projects", description: "Projects, for master keys. Experimental." },
  pageTemplate: {
    name: "Page template",
    description: "The page that visitors to a link see. Experimental.",
  },
  appSdk: {
    name: "App SDK",
    description: "Requests that the SDK in an app makes with a client key.",
  },
  apiDescription: { name: "API description", description: "The description of the API." },
};

function describePaths(schemas: Schemas): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const [group, { name }] of Object.entries(tags)) {
    // The tags have the keys of the contract.
    for (const endpoint of Object.values<Endpoint>(served[group as keyof ServedEndpoints])) {
      const path = writePath(endpoint);
      paths[path] = { ...paths[path], ...describeOperations(endpoint, name, schemas) };
    }
  }
  return paths;
}

const warning: JsonObject = {
  description: "The fields or filters that were ignored.",
  schema: { type: "string" },
  ...own,
};

const securitySchemes: JsonObject = {
  Token: {
    type: "apiKey",
    in: "header",
    name: "Authorization",
    description: "`Token KEY`, with an API key of the project or a master key.",
  },
  Bearer: {
    type: "http",
    scheme: "bearer",
    description: "The same key as a bearer token.",
    ...own,
  },
  ApiKeyParameter: {
    type: "apiKey",
    in: "query",
    name: "api_key",
    description: "The same key in the query. Addresses end up in logs, so prefer the header.",
  },
  ClientKey: {
    type: "http",
    scheme: "bearer",
    description: "The client key of an app.",
    ...own,
  },
};
