import * as z from "zod";
import { asCreate, asDestroy, asRead, asRestore, asUpdate, type Endpoint } from "./endpoint.ts";
import { byId, meta, storedId, storedText, text } from "./fields.ts";
import { androidAppFilters, iosAppFilters, type FilterFields } from "./filters.ts";

/** The endpoints for iOS and Android apps. The two kinds differ only in their fields. */

const iosApp = z.looseObject({
  id: storedId,
  name: storedText,
  bundle_id: z.string(),
  team_id: z.string(),
  app_store_id: storedText,
  clip_bundle_id: storedText,
  custom_scheme: storedText,
});
export type IosApp = z.output<typeof iosApp>;

const iosAppFields = z.object({
  bundle_id: text("Bundle ID, unique in the project."),
  team_id: text("Team ID of 10 characters; ask the user."),
  app_store_id: text("App Store ID, digits; ask the user."),
  name: text("Display name."),
  clip_bundle_id: text("Bundle ID of the App Clip."),
  custom_scheme: text("Custom URL scheme."),
});
export type IosAppFields = z.output<typeof iosAppFields>;

const androidApp = z.looseObject({
  id: storedId,
  name: storedText,
  package_name: z.string(),
  fingerprints: z.array(z.string()),
  custom_scheme: storedText,
});
export type AndroidApp = z.output<typeof androidApp>;

const androidAppFields = z.object({
  package_name: text("Package name, unique in the project."),
  fingerprints: z
    .array(z.string())
    .nullish()
    .describe("SHA-256 fingerprints, 32 hex pairs each. Ask the user. Replaces the whole list."),
  name: text("Display name."),
  custom_scheme: text("Custom URL scheme."),
});
export type AndroidAppFields = z.output<typeof androidAppFields>;

export const iosApps = describeApps({
  name: "ios_app",
  label: "iOS app",
  resource: iosApp,
  page: z.looseObject({ ios_apps: z.array(iosApp), meta }),
  fields: iosAppFields,
  filters: iosAppFilters,
  needed: ["bundle_id", "team_id"],
  approval_fields: ["bundle_id", "team_id", "app_store_id", "clip_bundle_id", "custom_scheme"],
});

export const androidApps = describeApps({
  name: "android_app",
  label: "Android app",
  resource: androidApp,
  page: z.looseObject({ android_apps: z.array(androidApp), meta }),
  fields: androidAppFields,
  filters: androidAppFilters,
  needed: ["package_name", "fingerprints"],
  approval_fields: ["package_name", "fingerprints", "custom_scheme"],
});

/** `AppDescription` would widen literal types. This mapped type keeps them. */
type Exact<Kind> = { readonly [Name in keyof Kind]: Kind[Name] };

type AppDescription = {
  readonly name: "ios_app" | "android_app";
  readonly label: string;
  readonly resource: z.ZodType;
  readonly page: z.ZodType;
  readonly fields: z.ZodObject;
  readonly filters: FilterFields;
  readonly needed: readonly string[];
  readonly approval_fields: readonly string[];
};

function describeApps<const Kind extends AppDescription>(kind: Kind) {
  const { name, label, resource, page, fields, filters, needed }: Exact<Kind> = kind;
  const reads = { ...asRead, auth: "project", role: "viewer" } as const;
  const writes = { auth: "project", role: "manager", budget: `${name}_writes` } as const;
  return {
    index: {
      ...reads,
      path: `/${name}s`,
      tool: `list_${name}s`,
      title: `List ${label}s`,
      summary: `List the project's ${label}s, filtered, sorted and paged.`,
      scope: `${name}s.index`,
      list: { name: `${name}s`, filters },
      response: page,
    },
    show: {
      ...reads,
      path: `/${name}s/:id`,
      tool: `get_${name}`,
      title: `Get an ${label}`,
      summary: `Read one ${label}.`,
      scope: `${name}s.show`,
      params: byId,
      response: resource,
    },
    create: {
      ...asCreate,
      ...writes,
      path: `/${name}s`,
      tool: `register_${name}`,
      title: `Register an ${label}`,
      summary: `Register an ${label}, so that links can open it.`,
      scope: `${name}s.create`,
      body: fields,
      needed,
      wrapper: name,
      response: resource,
    },
    update: {
      ...asUpdate,
      ...writes,
      path: `/${name}s/:id`,
      tool: `update_${name}`,
      title: `Update an ${label}`,
      summary: `Change the given fields of an ${label}.`,
      scope: `${name}s.update`,
      params: byId,
      body: fields,
      wrapper: name,
      response: resource,
      approval_fields: kind.approval_fields,
    },
    destroy: {
      ...asDestroy,
      ...writes,
      path: `/${name}s/:id`,
      tool: `delete_${name}`,
      title: `Delete an ${label}`,
      summary: `Delete an ${label}. Its links stay, but no longer open it.`,
      scope: `${name}s.destroy`,
      params: byId,
    },
    restore: describeRestore(name, label, resource),
  } as const satisfies Record<string, Endpoint>;
}

/** The endpoint that registers an app without creating a link. */
export function findRegistration(name: string): Endpoint {
  return name === "ios_app" ? iosApps.create : androidApps.create;
}

/** Values that only the app's developer knows. The assistant must ask for them. */
export const makerFacts = { ios_app: "Team ID", android_app: "SHA-256 fingerprints" } as const;

const makerFields: ReadonlySet<string> = new Set(["team_id", "app_store_id", "fingerprints"]);

/**
 * Whether only the app's developer knows a field. Also accepts nested names such as
 * `ios_app.team_id`.
 */
export function isKnownToMaker(field = ""): boolean {
  return makerFields.has(field.split(".").at(-1) ?? "");
}

/** Undoing a deletion requires the same scope and role as creating an app. */
function describeRestore<const Name extends AppDescription["name"], Resource extends z.ZodType>(
  name: Name,
  label: string,
  resource: Resource,
) {
  return {
    ...asRestore,
    path: `/${name}s/:id/restore`,
    tool: `restore_${name}`,
    title: `Restore an ${label}`,
    summary: `Restore a deleted ${label} to its former links.`,
    auth: "project",
    role: "manager",
    scope: `${name}s.create`,
    budget: `${name}_writes`,
    params: byId,
    response: resource,
  } as const satisfies Endpoint;
}
