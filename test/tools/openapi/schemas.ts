import * as z from "zod";
import { apiDescription, browserPaths } from "../../../src/contract/own-endpoints.ts";
import { appSdk } from "../../../src/contract/app-sdk.ts";
import { androidApps, iosApps } from "../../../src/contract/apps.ts";
import { meta } from "../../../src/contract/fields.ts";
import type { JsonObject } from "../../../src/contract/json.ts";
import { linkStats } from "../../../src/contract/link-stats.ts";
import { links, shortLinks } from "../../../src/contract/links.ts";
import { pageTemplate } from "../../../src/contract/page-template.ts";
import { projects } from "../../../src/contract/projects.ts";
import { fieldNotes } from "./field-notes.ts";

/** Every body and response of the API under the name that it has in the document. */
const named = {
  Link: links.show.response,
  LinkFields: links.create.body,
  LinkList: links.index.response,
  ResolvedLink: shortLinks.resolve.response,
  ShortLinkFields: shortLinks.create.body,
  ShortLinkAddress: shortLinks.resolve.body,
  IosApp: iosApps.show.response,
  IosAppFields: iosApps.create.body,
  IosAppList: iosApps.index.response,
  AndroidApp: androidApps.show.response,
  AndroidAppFields: androidApps.create.body,
  AndroidAppList: androidApps.index.response,
  Project: projects.show.response,
  ProjectFields: projects.create.body,
  ProjectList: projects.index.response,
  PageTemplate: pageTemplate.save.response,
  PageTemplateFields: pageTemplate.save.body,
  PageTemplatePreview: pageTemplate.preview.body,
  TemplateVersion: pageTemplate.version.response,
  TemplateVersionSummary: pageTemplate.versions.response.shape.versions.element,
  TemplateVersionList: pageTemplate.versions.response,
  Meta: meta,
  LinkStatistics: linkStats.show.response,
  BrowserPaths: browserPaths.index.response,
  OpenedAddress: appSdk.attribute.body,
  Install: appSdk.match.body,
  Attribution: appSdk.attribute.response,
  ApiDescription: apiDescription.show.response,
} as const satisfies Record<string, z.ZodType>;

export type SchemaName = keyof typeof named;

/** Fields of a response are described in the request that sends them. */
const sentAs: Readonly<Record<string, SchemaName>> = {
  Link: "LinkFields",
  ResolvedLink: "LinkFields",
  IosApp: "IosAppFields",
  AndroidApp: "AndroidAppFields",
  Project: "ProjectFields",
  PageTemplate: "PageTemplateFields",
  TemplateVersion: "PageTemplateFields",
};

export function writeSchemas(): Readonly<Record<string, JsonObject>> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    io: "input",
    uri: refer,
    override: ({ jsonSchema }) => {
      // Otherwise every integer would have JavaScript's limits.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      delete jsonSchema.propertyNames;
      // Unknown fields are allowed anyway.
      if (isEmpty(jsonSchema.additionalProperties)) delete jsonSchema.additionalProperties;
    },
  });
  // Each is a JSON object.
  const written = schemas as unknown as Readonly<Record<string, JsonObject>>;
  return Object.fromEntries(
    Object.keys(named).map((name) => [name, describeFields(name, written)] as const),
  );
}

export function findName(schema: z.ZodType): SchemaName {
  const found = Object.entries(named).find(([, other]) => other === schema);
  if (found === undefined) throw new Error("a body or response of the contract has no name");
  // The entries of an object have its keys.
  return found[0] as SchemaName;
}

export function refer(name: string): string {
  return `#/components/schemas/${name}`;
}

function describeFields(name: string, written: Readonly<Record<string, JsonObject>>): JsonObject {
  const { type, required, properties } = written[name] ?? {};
  const sent = readProperties(written[sentAs[name] ?? ""]);
  const own = readProperties({ properties });
  const notes = fieldNotes[name] ?? {};
  const fields = [...new Set([...Object.keys(own), ...Object.keys(notes)])].map((field) => {
    const description = sent[field]?.["description"];
    const noted = { ...(description !== undefined && { description }), ...own[field] };
    return [field, { ...noted, ...fieldNotes[sentAs[name] ?? ""]?.[field], ...notes[field] }];
  });
  return {
    type,
    ...(required !== undefined && { required }),
    properties: Object.fromEntries(fields),
  };
}

export function readProperties(schema: JsonObject | undefined): Record<string, JsonObject> {
  // JSON Schema has an object of schemas there.
  return (schema?.["properties"] ?? {}) as Record<string, JsonObject>;
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
