import type { ServerAccess } from "../client/client.ts";
import { androidApps, iosApps, type AndroidApp, type IosApp } from "../contract/apps.ts";
import type { Endpoint, ReceivedData } from "../contract/endpoint.ts";
import { normalizeId, uuidPattern } from "../contract/fields.ts";
import type { ListInput } from "../contract/filters.ts";
import { findKind } from "../contract/resource-kind.ts";
import { Problem } from "../contract/problem.ts";
import { bringsNewApp } from "../contract/rules/app-rules.ts";
import { pickNamed } from "../contract/rules/named-records.ts";
import { isBlank } from "../contract/text.ts";
import { collectList, readList, type ListPart } from "./read-list.ts";

/** Reads a project's iOS and Android apps, and finds the app that a link refers to. */

export type ProjectApps = ReturnType<typeof createProjectApps>;

/** The link fields that refer to apps. */
export const appKinds = {
  ios_app: findKind(iosApps.show),
  android_app: findKind(androidApps.show),
} as const;

export type AppMember = keyof typeof appKinds;
export const appMembers = ["ios_app", "android_app"] as const satisfies readonly AppMember[];

export type ProjectApp = ReceivedData<IosApp> & ReceivedData<AndroidApp>;

export type AppList = ListPart<ProjectApp>;

/**
 * Each kind is read only once and completely, because projects have few apps. `mayRead` returns
 * false if the key certainly lacks the permission.
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
    /** Clears the cache. Call this after registering or changing an app. */
    forget: () => lists.clear(),
  };
}

/** Throws if the key may not read the apps. */
export function readApps(member: AppMember, { call, signal }: ServerAccess): Promise<AppList> {
  const { index } = appKinds[member];
  // The cast is safe, because the client has validated the response.
  const readPage = async (input: ListInput) => (await call(index, input, signal)) as never;
  return collectList(readList<ProjectApp>(index, readPage));
}

export function readIdentifier({ bundle_id, package_name }: ProjectApp): string | undefined {
  return bundle_id ?? package_name ?? undefined;
}

export function describeApp(app: ProjectApp) {
  return { name: app.name, identifier: readIdentifier(app) };
}

/** Finds an app by its ID, bundle ID or package name. */
export function findApp(apps: readonly ProjectApp[], text: string): ProjectApp | undefined {
  const id = normalizeId(text);
  return apps.find((app) => normalizeId(app.id) === id || readIdentifier(app) === text);
}

/** Whether the list contains all apps of the project, with their identifiers. */
export function isWhole({ rows, unread }: AppList): boolean {
  return unread === 0 && rows.every((app) => readIdentifier(app) !== undefined);
}

/** Returns the apps that match a name. If there are several, the name is ambiguous. */
export function pickNamedApps(apps: readonly ProjectApp[], text: string): readonly ProjectApp[] {
  return pickNamed(apps, text, {
    unique: (app) => readIdentifier(app) ?? "",
    name: ({ name }) => name ?? "",
  });
}

/** The value of a link's app field: an app's ID or identifier, or the fields of a new app. */
export type AppChoice = Readonly<Record<string, unknown>>;

/** Returns the ID, bundle ID or package name from a link's app field. */
export function readChoice({ id, bundle_id, package_name }: AppChoice): string {
  const text = isBlank(id) ? (bundle_id ?? package_name) : id;
  return typeof text === "string" ? text : "";
}

/**
 * Finds the registered apps that a link's app field may refer to, possibly by name. If several apps
 * match, the name is ambiguous.
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

/**
 * Returns undefined if the key may not read the data. The key may still be allowed to write links.
 */
export async function readIfAllowed<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return undefined;
    throw error;
  }
}
