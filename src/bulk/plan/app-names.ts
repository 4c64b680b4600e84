import { androidApps, iosApps } from "../../contract/apps.ts";
import { normalizeId, type ReadMeta } from "../../contract/fields.ts";
import type { JsonObject } from "../../contract/json.ts";
import { paging } from "../../contract/limits.ts";
import type { Asking } from "../owner.ts";
import { readIfAllowed } from "./read-if-allowed.ts";

/** What apps are called that rows name by their UUID, or by their bundle id or package name. */

/** As the key may read it. */
export type NamedApp = { readonly name: unknown; readonly identifier: unknown };

type Ids = Readonly<Record<"ios_app" | "android_app", ReadonlySet<string>>>;

/** A project has few apps; of one that has thousands, not all are looked through. */
const mostPages = 5;

/** Every id and identifier that is asked for, with its app where one was found. */
export async function readApps(
  { call, signal }: Asking,
  { ios_app, android_app }: Ids,
): Promise<ReadonlyMap<string, NamedApp | undefined>> {
  const ios = await readKind(ios_app, async (page) => {
    const { ios_apps, meta } = await call(iosApps.index, page, signal);
    return { apps: ios_apps, meta };
  });
  const android = await readKind(android_app, async (page) => {
    const { android_apps, meta } = await call(androidApps.index, page, signal);
    return { apps: android_apps, meta };
  });
  return new Map([
    ...[...ios_app].map((id) => [id, ios.get(normalizeId(id))] as const),
    ...[...android_app].map((id) => [id, android.get(normalizeId(id))] as const),
  ]);
}

type Page = { readonly page: number; readonly limit: number };
type Read = (
  page: Page,
) => Promise<{ readonly apps: readonly JsonObject[]; readonly meta: ReadMeta }>;

async function readKind(
  ids: ReadonlySet<string>,
  read: Read,
): Promise<ReadonlyMap<string, NamedApp>> {
  const found = new Map<string, NamedApp>();
  const missing = new Set([...ids].map(normalizeId));
  for (let page = 1; page <= mostPages && missing.size > 0; page += 1) {
    const asked = await readIfAllowed(() => read({ page, limit: paging.max_limit }));
    for (const { id, name, bundle_id, package_name } of asked?.apps ?? []) {
      const identifier = bundle_id ?? package_name;
      for (const by of [id, identifier]) {
        if (typeof by !== "string" || !missing.delete(normalizeId(by))) continue;
        found.set(normalizeId(by), { name, identifier });
      }
    }
    if (typeof asked?.meta.next !== "number") break;
  }
  return found;
}
