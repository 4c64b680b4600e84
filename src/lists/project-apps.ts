import type { ServerAccess } from "../client/client.ts";
import { androidApps, iosApps, type AndroidApp, type IosApp } from "../contract/apps.ts";
import type { Endpoint, Read } from "../contract/endpoint.ts";
import { normalizeId, uuidPattern } from "../contract/fields.ts";
import type { ListInput } from "../contract/filters.ts";
import { findKind } from "../contract/resource-kind.ts";
import { Problem } from "../contract/problem.ts";
import { bringsNewApp } from "../contract/rules/app-rules.ts";
import { pickNamed } from "../contract/rules/named-records.ts";
import { isBlank } from "../contract/text.ts";
import { collectList, readList, type ListPart } from "./read-list.ts";

export type ProjectApps = ReturnType<typeof createProjectApps>;

/** The fields that select a link's apps. */
export const appKinds = {
  ios_app: findKind(iosApps.show),
  android_app: findKind(androidApps.show),
} as const;

export type AppMember = keyof typeof appKinds;
export const appMembers = ["ios_app", "android_app"] as const satisfies readonly AppMember[];

export type ProjectApp = Read<IosApp> & Read<AndroidApp>;

export type AppList = ListPart<ProjectApp>;

/**
 * Reads the apps of a project. A project has few apps, so each kind is read once, completely.
 * `mayRead` returns false if the key is known to lack the permission.
 */
export function createProjectApps(
  asking: ServerAccess,
  mayRead: (index: Endpoint) => boolean = () => true,
) {
  const lists = new Map<AppMember, Promise<AppList>>();
  const requireList = (member: AppMember) => {
    const list = lists.get(member) ?? readApps(member, asking);
    lists.set(member, list);
    return list;
  };
  return {
    /** Returns undefined if the key may not read the apps. */
    list: async (member: AppMember) =>
      mayRead(appKinds[member].index) ? readIfAllowed(() => requireList(member)) : undefined,
    requireList,
    isRead: (member: AppMember) => lists.has(member),
    /** Clears the cache, for calls after an app was registered or changed. */
    forget: () => lists.clear(),
  };
}

/** Throws if the key may not read the apps. */
export function readApps(member: AppMember, { call, signal }: ServerAccess): Promise<AppList> {
  const { index } = appKinds[member];
  // The cast is safe, because the client has validated the body.
  const readPage = async (input: ListInput) => (await call(index, input, signal)) as never;
  return collectList(readList<ProjectApp>(index, readPage));
}

export function readIdentifier({ bundle_id, package_name }: ProjectApp): string | undefined {
  return bundle_id ?? package_name ?? undefined;
}

export function describeApp(app: ProjectApp) {
  return { name: app.name, identifier: readIdentifier(app) };
}

/** Finds an app by its id, bundle id or package name. */
export function findApp(apps: readonly ProjectApp[], text: string): ProjectApp | undefined {
  const id = normalizeId(text);
  return apps.find((app) => normalizeId(app.id) === id || readIdentifier(app) === text);
}

/** Whether the list is complete, so that an app missing from it does not exist. */
export function isWhole({ rows, unread }: AppList): boolean {
  return unread === 0 && rows.every((app) => readIdentifier(app) !== undefined);
}

/** Returns the apps that match a name. More than one means that the name is ambiguous. */
export function pickNamedApps(apps: readonly ProjectApp[], text: string): readonly ProjectApp[] {
  return pickNamed(apps, text, {
    unique: (app) => readIdentifier(app) ?? "",
    name: ({ name }) => name ?? "",
  });
}

/** A link's app field: an app's id or identifier, or the fields of a new app. */
export type AppChoice = Readonly<Record<string, unknown>>;

/** Returns the id, bundle id or package name in a link's app field. */
export function readChoice({ id, bundle_id, package_name }: AppChoice): string {
  const text = isBlank(id) ? (bundle_id ?? package_name) : id;
  return typeof text === "string" ? text : "";
}

/**
 * Finds the registered apps that a link's app field selects. People also use an app's name, so more
 * than one app means that the name is ambiguous.
 */
export function findChosen(
  apps: readonly ProjectApp[],
  choice: AppChoice,
  takesNames = true,
): readonly ProjectApp[] {
  const text = readChoice(choice);
  const exact = findApp(apps, text);
  if (exact !== undefined) return [exact];
  const isName = takesNames && !uuidPattern.test(text) && !bringsNewApp(choice);
  return isName ? pickNamedApps(apps, text) : [];
}

/** Returns undefined if the key may not read the data. It may still be allowed to write links. */
export async function readIfAllowed<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return undefined;
    throw error;
  }
}
