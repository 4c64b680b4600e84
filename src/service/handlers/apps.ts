import type { androidApps, iosApps } from "../../contract/apps.ts";
import type { Meta } from "../../contract/fields.ts";
import type { ListQuery } from "../../contract/filters.ts";
import { notFound, takenFault, validationFailed } from "../../contract/problem.ts";
import type { Tenant } from "../../store/tenant.ts";
import { androidAppKind, iosAppKind, type AppKind } from "../app-kinds.ts";
import { readTenant, writeTenant, type GroupHandlers, type WriteCall } from "../handler.ts";
import { createIdAndTime } from "../ids.ts";
import { requireCondition } from "../precondition.ts";

export const iosAppHandlers: GroupHandlers<typeof iosApps> = handleApps(
  iosAppKind,
  (ios_apps, meta) => ({ ios_apps, meta }),
);

export const androidAppHandlers: GroupHandlers<typeof androidApps> = handleApps(
  androidAppKind,
  (android_apps, meta) => ({ android_apps, meta }),
);

type OneApp = WriteCall & { readonly params: { readonly id: string } };

/** What both kinds of app have in common: everything but the name of their list. */
function handleApps<
  App extends { readonly id: string },
  Fields,
  Values extends Readonly<Record<Identifier, string>>,
  Identifier extends string,
  AppPage,
>(
  { identifier, notFound: message, apps, check }: AppKind<App, Fields, Values, Identifier>,
  describePage: (items: App[], meta: Meta) => AppPage,
) {
  async function find(tenant: Tenant, id: string): Promise<App> {
    const app = await apps.find(tenant, id);
    if (app === undefined) throw notFound(message);
    return app;
  }

  /** The values to store, when nothing is wrong with them and the identifier is free. */
  async function readValues(tenant: Tenant, fields: Fields, ownId?: string): Promise<Values> {
    const { values, problems } = check(fields);
    const isNamed = !problems.some(({ field }) => field === identifier);
    const other = isNamed ? await apps.findNamed(tenant, values[identifier]) : undefined;
    const isTaken = other !== undefined && other.id !== ownId;
    const all = isTaken ? [takenFault(identifier), ...problems] : problems;
    if (all.length > 0) throw validationFailed(all);
    return values;
  }

  return {
    index: async (call: WriteCall & { readonly list: ListQuery }) => {
      const { items, meta } = await apps.list(readTenant(call), call.list);
      return { body: describePage([...items], meta) };
    },

    create: async (call: WriteCall & { readonly body: Fields }) => ({
      body: await writeTenant(call, async (tenant) => {
        const { id, now } = createIdAndTime(call.services);
        return apps.insert(tenant, id, await readValues(tenant, call.body), now);
      }),
    }),

    show: async (call: OneApp) => ({ body: await find(readTenant(call), call.params.id) }),

    update: async (call: OneApp & { readonly body: Fields }) => ({
      body: await writeTenant(call, async (tenant) => {
        const before = await find(tenant, call.params.id);
        requireCondition(call.precondition, before);
        const values = await readValues(tenant, { ...before, ...call.body }, before.id);
        return apps.update(tenant, before.id, values, call.services.clock.now());
      }),
    }),

    destroy: async (call: OneApp) => {
      const removed = await writeTenant(call, async (tenant) => {
        requireCondition(call.precondition, await find(tenant, call.params.id));
        return apps.remove(tenant, call.params.id);
      });
      if (removed === undefined) throw notFound(message);
      // The app is gone; where its links are many, a client that reads after this answer should
      // find all of them detached. What is not done in time goes on after the answer.
      const { chore } = removed;
      if (chore !== undefined) await call.services.store.finishChore(chore, detachTimeout_ms);
      return { body: null };
    },
  };
}

const detachTimeout_ms = 5000;
