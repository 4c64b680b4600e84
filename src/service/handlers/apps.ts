import type { androidApps, iosApps } from "../../contract/apps.ts";
import type { Meta } from "../../contract/fields.ts";
import type { ListQuery } from "../../contract/filters.ts";
import type { JsonObject } from "../../contract/json.ts";
import { notFound, makeTakenProblem, validationFailed } from "../../contract/problem.ts";
import type { TaskTable, Tenant } from "../../store/tables.ts";
import { androidAppKind, iosAppKind, type AppKindRules } from "../app-kinds.ts";
import {
  readTenant,
  writeTenant,
  requireCondition,
  type GroupHandlers,
  type WriteCall,
} from "../handler.ts";
import { createIdAndTime } from "../ids.ts";
import { requireScope } from "../keys.ts";
import { restoreDeletedApp } from "../write-link.ts";

/** Handles calls for iOS and Android apps, with one implementation for both. */
export const iosAppHandlers: GroupHandlers<typeof iosApps> = handleApps(
  iosAppKind,
  (ios_apps, meta) => ({ ios_apps, meta }),
);

export const androidAppHandlers: GroupHandlers<typeof androidApps> = handleApps(
  androidAppKind,
  (android_apps, meta) => ({ android_apps, meta }),
);

type OneApp = WriteCall & { readonly params: { readonly id: string } };

function handleApps<
  App extends { readonly id: string },
  Fields,
  Values extends Readonly<Record<Identifier, string>>,
  Identifier extends string,
  AppPage,
>(
  kind: AppKindRules<App, Fields, Values, Identifier>,
  describePage: (items: App[], meta: Meta) => AppPage,
) {
  const { identifier, notFound: message, apps, check, findWarning } = kind;

  async function find(tenant: Tenant, id: string): Promise<App> {
    const app = await apps.find(tenant, id);
    if (app === undefined) throw notFound(message);
    return app;
  }

  /** Returns the values to store. Throws if they break a rule or the identifier is taken. */
  async function readValues(tenant: Tenant, fields: Fields, ownId?: string): Promise<Values> {
    const { values, problems } = check(fields);
    const isNamed = !problems.some(({ field }) => field === identifier);
    const other = isNamed ? await apps.findNamed(tenant, values[identifier]) : undefined;
    const isTaken = other !== undefined && other.id !== ownId;
    const all = isTaken ? [makeTakenProblem(identifier), ...problems] : problems;
    if (all.length > 0) throw validationFailed(all);
    return values;
  }

  function warn(call: WriteCall & { readonly body: Fields }): void {
    const warning = findWarning(call.body);
    if (warning !== undefined) call.warn(`${warning}.`);
  }

  return {
    index: async (call: WriteCall & { readonly list: ListQuery }) => {
      const { items, meta } = await apps.list(readTenant(call), call.list);
      return { body: describePage([...items], meta) };
    },

    create: async (call: WriteCall & { readonly body: Fields }) => {
      warn(call);
      const body = await writeTenant(call, async (tenant) => {
        const { id, now } = createIdAndTime(call.services);
        return apps.insert(tenant, id, await readValues(tenant, call.body), now);
      });
      return { body };
    },

    show: async (call: OneApp) => ({ body: await find(readTenant(call), call.params.id) }),

    update: async (call: OneApp & { readonly body: Fields }) => {
      warn(call);
      const body = await writeTenant(call, async (tenant) => {
        const before = await find(tenant, call.params.id);
        requireCondition(call.precondition, before);
        const values = await readValues(tenant, { ...before, ...call.body }, before.id);
        return apps.update(tenant, before.id, values, call.services.clock.now());
      });
      return { body };
    },

    destroy: (call: OneApp) => removeApp(call, kind),

    restore: async (call: OneApp) => ({ body: await restoreApp(call, kind) }),
  };
}

type RestorableKind<App> = Pick<
  AppKindRules<App, never, never, string>,
  "apps" | "notFound" | "showScope"
>;

async function removeApp(call: OneApp, { apps, notFound: message }: RestorableKind<JsonObject>) {
  const { id } = call.params;
  const now = call.services.clock.now();
  const removed = await writeTenant(call, async (tenant) => {
    const before = await apps.find(tenant, id);
    if (before === undefined) throw notFound(message);
    requireCondition(call.precondition, before);
    return apps.remove(tenant, id, now);
  });
  await finishTask(call, removed?.task);
  return { body: null };
}

async function restoreApp<App>(
  call: OneApp,
  { apps, notFound: message, showScope }: RestorableKind<App>,
): Promise<App> {
  const { id } = call.params;
  const now = call.services.clock.now();
  const { app, task } = await writeTenant(call, async (tenant) => {
    const restored = await restoreDeletedApp(tenant, apps, id, now);
    if (restored !== undefined) return restored;
    // An earlier call may have restored the app, but its response was lost.
    const there = await apps.find(tenant, id);
    if (there === undefined) throw notFound(message);
    requireScope(call.caller, showScope);
    return { app: there, task: undefined };
  });
  await finishTask(call, task);
  return app;
}

const taskTimeout_ms = 5000;

/**
 * Waits until the app's links are detached or attached, so that the response is up to date. After a
 * timeout, the task continues in the background.
 */
async function finishTask({ services }: WriteCall, task: TaskTable | undefined): Promise<void> {
  if (task !== undefined) await services.store.finishTask(task, taskTimeout_ms);
}
