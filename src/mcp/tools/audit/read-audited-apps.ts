import type { AuditedApps } from "../../../audit/audit-apps.ts";
import type { Asking } from "../../../bulk/owner.ts";
import { readIfAllowed } from "../../../bulk/plan/read-if-allowed.ts";
import { readAndroidApps, readIosApps } from "../../../bulk/select/read-apps.ts";
import type { WholeList } from "../../../bulk/select/read-whole-list.ts";
import type { Endpoint } from "../../../contract/endpoint.ts";
import { contract } from "../../../contract/index.ts";
import { findKind } from "../../../contract/resource-kind.ts";
import type { Call } from "../tool.ts";

/** The apps to look at, as far as the key may read them; and in words which are not looked at. */

type Looked = { readonly apps: AuditedApps; readonly notChecked: readonly string[] };

const { iosApps, androidApps } = contract;

export async function readAuditedApps(call: Call): Promise<Looked> {
  const [ios, android] = await Promise.all([
    readKind(iosApps.index, readIosApps, call),
    readKind(androidApps.index, readAndroidApps, call),
  ]);
  return {
    apps: { ios: ios.byId, android: android.byId },
    notChecked: [...ios.notChecked, ...android.notChecked],
  };
}

async function readKind<App extends { readonly id: string }>(
  index: Endpoint,
  read: (asking: Asking) => Promise<WholeList<App>>,
  { keyContext, signal }: Call,
) {
  const mayRead = keyContext.access.read(index).state !== "denied";
  const asking = { call: keyContext.call, signal };
  const found = mayRead ? await readIfAllowed(() => read(asking)) : undefined;
  const { label } = findKind(index);
  if (found === undefined) {
    return { byId: undefined, notChecked: [`${label}s: this key cannot read them.`] };
  }
  const byId = new Map(found.rows.map((app) => [app.id, app] as const));
  if (found.unread === 0) return { byId, notChecked: [] };
  // One of them may be the app that a link has.
  return { byId: undefined, notChecked: [`${label}s: not all of them could be read.`] };
}
