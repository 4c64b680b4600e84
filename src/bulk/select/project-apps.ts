import { androidApps, iosApps, type AndroidApp, type IosApp } from "../../contract/apps.ts";
import type { Endpoint, Read } from "../../contract/endpoint.ts";
import { normalizeId } from "../../contract/fields.ts";
import { findKind } from "../../contract/resource-kind.ts";
import { Problem } from "../../contract/problem.ts";
import { pickNamed } from "../../contract/rules/named-records.ts";
import type { ServerAccess } from "../owner.ts";
import { collectList, readList, type ListPart } from "./read-list.ts";

/** The apps of a project. A project has few, so each kind is read once and completely. */
export type ProjectApps = {
  /** Undefined where the key may not read them. */
  readonly list: (member: AppMember) => Promise<AppList | undefined>;
  /** Throws where the key may not read them. */
  readonly requireList: (member: AppMember) => Promise<AppList>;
  readonly isRead: (member: AppMember) => boolean;
  /** Has them read again, because one was registered or changed. */
  readonly forget: () => void;
};

/** The members of a link's fields that choose an app, each with its kind of app. */
export const appKinds = {
  ios_app: findKind(iosApps.show),
  android_app: findKind(androidApps.show),
} as const;

export type AppMember = keyof typeof appKinds;
export const appMembers = ["ios_app", "android_app"] as const satisfies readonly AppMember[];

/** An app of either kind, with the fields of its own kind. */
export type ProjectApp = Read<IosApp> & Read<AndroidApp>;

export type AppList = ListPart<ProjectApp>;

/** `mayRead` is false for a list that the key is known to have no right to. */
export function createProjectApps(
  asking: ServerAccess,
  mayRead: (index: Endpoint) => boolean = () => true,
): ProjectApps {
  const lists = new Map<AppMember, Promise<AppList>>();
  const requireList = (member: AppMember) => {
    const list = lists.get(member) ?? readApps(member, asking);
    lists.set(member, list);
    return list;
  };
  return {
    list: async (member) =>
      mayRead(appKinds[member].index) ? readIfAllowed(() => requireList(member)) : undefined,
    requireList,
    isRead: (member) => lists.has(member),
    forget: () => lists.clear(),
  };
}

/** Throws where the key may not read them. */
export function readApps(member: AppMember, asking: ServerAccess): Promise<AppList> {
  return collectList(readList<ProjectApp>(asking, appKinds[member].index));
}

export function readIdentifier({ bundle_id, package_name }: ProjectApp): string | undefined {
  return bundle_id ?? package_name ?? undefined;
}

/** The name and the identifier of an app, by which people know it. */
export function describeApp(app: ProjectApp) {
  return { name: app.name, identifier: readIdentifier(app) };
}

/** By its id, or by its bundle id or package name. */
export function findApp(apps: readonly ProjectApp[], text: string): ProjectApp | undefined {
  const id = normalizeId(text);
  return apps.find((app) => normalizeId(app.id) === id || readIdentifier(app) === text);
}

/** Whether an app that is not in the list does not exist. */
export function isWhole({ rows, unread }: AppList): boolean {
  return unread === 0 && rows.every((app) => readIdentifier(app) !== undefined);
}

/** The apps that a person may mean by a name; several are ambiguous. */
export function pickNamedApps(apps: readonly ProjectApp[], text: string): readonly ProjectApp[] {
  return pickNamed(apps, text, {
    unique: (app) => readIdentifier(app) ?? "",
    name: ({ name }) => name ?? "",
  });
}

/** Undefined for what the key may not read: a key that may write links need not be able to. */
export async function readIfAllowed<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return undefined;
    throw error;
  }
}
