import { androidApps, iosApps } from "../contract/apps.ts";
import { messages } from "../contract/messages.ts";
import type { Checked } from "../contract/problem.ts";
import {
  checkAndroidApp,
  checkIosApp,
  findFingerprintWarning,
  findTeamIdWarning,
} from "../contract/rules/app-rules.ts";
import type { Scope } from "../contract/scopes-and-roles.ts";
import { androidAppStore, iosAppStore, type AppStore } from "../store/apps.ts";

/** What the service needs to write one kind of app, iOS or Android, and to put it on links. */
export type AppKind<App, Fields, Values, Identifier extends string> = {
  readonly name: string;
  /** The field that names one app, beside its id: its bundle id or package name. */
  readonly identifier: Identifier;
  readonly notFound: string;
  /** Of the endpoint that registers such an app, and so of every other way to register one. */
  readonly createScope: Scope;
  /** What a key needs to read one. */
  readonly showScope: Scope;
  readonly apps: AppStore<App, Values>;
  readonly check: (fields: Fields) => Checked<Values>;
  /** What the API accepts in these fields although the app will not work as meant. */
  readonly findWarning: (fields: Fields) => string | undefined;
};

export const iosAppKind = {
  name: "ios_app",
  identifier: "bundle_id",
  notFound: messages.ios_app_not_found,
  createScope: iosApps.create.scope,
  showScope: iosApps.show.scope,
  apps: iosAppStore,
  check: checkIosApp,
  findWarning: findTeamIdWarning,
} as const;

export const androidAppKind = {
  name: "android_app",
  identifier: "package_name",
  notFound: messages.android_app_not_found,
  createScope: androidApps.create.scope,
  showScope: androidApps.show.scope,
  apps: androidAppStore,
  check: checkAndroidApp,
  findWarning: findFingerprintWarning,
} as const;
