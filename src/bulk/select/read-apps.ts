import { androidApps, iosApps, type AndroidApp, type IosApp } from "../../contract/apps.ts";
import { listUnreadRows } from "../../contract/deviations.ts";
import type { Read } from "../../contract/endpoint.ts";
import type { Asking } from "../owner.ts";
import { readWholeList, type WholeList } from "./read-whole-list.ts";

/** All apps of a project, which are few beside its links. */

export function readIosApps({ call, signal }: Asking): Promise<ReadApps<IosApp>> {
  return readAll(async (asked) => {
    const page = await call(iosApps.index, asked, signal);
    return { rows: page.ios_apps, unread: listUnreadRows(page), meta: page.meta };
  }, "bundle_id");
}

export function readAndroidApps({ call, signal }: Asking): Promise<ReadApps<AndroidApp>> {
  return readAll(async (asked) => {
    const page = await call(androidApps.index, asked, signal);
    return { rows: page.android_apps, unread: listUnreadRows(page), meta: page.meta };
  }, "package_name");
}

type ReadApps<App> = WholeList<Read<App>>;

async function readAll<Row extends { readonly id: string }>(
  ...asked: Parameters<typeof readWholeList<Row>>
): Promise<WholeList<Row>> {
  return (await readWholeList(...asked)) ?? { rows: [], unread: 0 };
}
