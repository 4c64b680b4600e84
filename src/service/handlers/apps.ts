import type { androidApps, iosApps } from "../../contract/apps.ts";
import { messages } from "../../contract/messages.ts";
import {
  notFound,
  takenFault,
  validationFailed,
  type FieldProblem,
} from "../../contract/problem.ts";
import { checkAndroidApp, checkIosApp, type Checked } from "../../contract/rules/app-rules.ts";
import { androidAppStore, iosAppStore, type AppStore } from "../../store/apps.ts";
import type { Tenant } from "../../store/tenant.ts";
import { readTenant, stamp, writeTenant, type GroupHandlers, type WriteCall } from "../handler.ts";

export const iosAppHandlers: GroupHandlers<typeof iosApps> = {
  ...handleApps({
    apps: iosAppStore,
    identifier: "bundle_id",
    identify: (values) => values.bundle_id,
    notFound: messages.ios_app_not_found,
    check: checkIosApp,
  }),
  index: async (call) => {
    const { items, meta } = await iosAppStore.list(readTenant(call), call.list);
    return { body: { ios_apps: [...items], meta } };
  },
};

export const androidAppHandlers: GroupHandlers<typeof androidApps> = {
  ...handleApps({
    apps: androidAppStore,
    identifier: "package_name",
    identify: (values) => values.package_name,
    notFound: messages.android_app_not_found,
    check: checkAndroidApp,
  }),
  index: async (call) => {
    const { items, meta } = await androidAppStore.list(readTenant(call), call.list);
    return { body: { android_apps: [...items], meta } };
  },
};

type AppKind<App, Values, Fields> = {
  readonly apps: AppStore<App, Values>;
  readonly identifier: string;
  readonly identify: (values: Values) => string;
  readonly notFound: string;
  readonly check: (fields: Fields) => Checked<Values>;
};

type OneApp = WriteCall & { readonly params: { readonly id: string } };

/** What both kinds of app have in common: everything but the name of their list. */
function handleApps<App extends { readonly id: string }, Values, Fields>(
  kind: AppKind<App, Values, Fields>,
) {
  const { apps } = kind;

  async function find(tenant: Tenant, id: string): Promise<App> {
    const app = await apps.find(tenant, id);
    if (app === undefined) throw notFound(kind.notFound);
    return app;
  }

  /** The values to store, when nothing is wrong with them and the identifier is free. */
  async function accept(tenant: Tenant, fields: Fields, ownId?: string): Promise<Values> {
    const { values, problems } = kind.check(fields);
    const isNamed = !problems.some(({ field }) => field === kind.identifier);
    const other = isNamed ? await apps.findNamed(tenant, kind.identify(values)) : undefined;
    const isTaken = other !== undefined && other.id !== ownId;
    const all: readonly FieldProblem[] = isTaken
      ? [takenFault(kind.identifier), ...problems]
      : problems;
    if (all.length > 0) throw validationFailed(all);
    return values;
  }

  return {
    create: async (call: WriteCall & { readonly body: Fields }) => ({
      body: await writeTenant(call, async (tenant) => {
        const { id, now } = stamp(call.services);
        return apps.insert(tenant, id, await accept(tenant, call.body), now);
      }),
    }),

    show: async (call: OneApp) => ({ body: await find(readTenant(call), call.params.id) }),

    update: async (call: OneApp & { readonly body: Fields }) => ({
      body: await writeTenant(call, async (tenant) => {
        const before = await find(tenant, call.params.id);
        const values = await accept(tenant, { ...before, ...call.body }, before.id);
        return apps.update(tenant, before.id, values, call.services.clock.now());
      }),
    }),

    destroy: async (call: OneApp) => {
      const removed = await writeTenant(call, (tenant) => apps.remove(tenant, call.params.id));
      if (removed === undefined) throw notFound(kind.notFound);
      // The app is gone; where its links are many, whoever reads after this answer should find all
      // of them detached. What is not done in time goes on behind it.
      const { chore } = removed;
      if (chore !== undefined) await call.services.store.finishChore(chore, detachPatience_ms);
      return { body: null };
    },
  };
}

const detachPatience_ms = 5000;
