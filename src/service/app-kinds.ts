import { androidApps, iosApps } from "../contract/apps.ts";
import { messages } from "../contract/messages.ts";
import type { CheckedValues } from "../contract/problem.ts";
import {
  checkAndroidApp,
  checkIosApp,
  findFingerprintWarning,
  findTeamIdWarning,
} from "../contract/rules/app-rules.ts";
import type { Scope } from "../contract/scopes-and-roles.ts";
import { androidAppStore, iosAppStore, type AppStore } from "../store/apps.ts";

/** What the service needs to write one kind of app, iOS or Android, and to put it on links. */
export type AppKindRules<App, Fields, Values, Identifier extends string> = {
  readonly name: string;
  /** The field that identifies an app in its project: bundle ID or package name. */
  readonly identifier: Identifier;
  readonly notFound: string;
  /** The scope to register such an app, also as part of a link. */
  readonly createScope: Scope;
  /** The scope to read one. */
  readonly showScope: Scope;
  readonly apps: AppStore<App, Values>;
  readonly check: (fields: Fields) => CheckedValues<Values>;
  /** A warning about values that the API accepts but with which the app will not open. */
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
