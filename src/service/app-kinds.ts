import { androidApps, iosApps } from "../contract/apps.ts";
import { messages } from "../contract/messages.ts";
import type { CheckedValues } from "../contract/problem.ts";
import {
  checkAndroidApp,
  checkIosApp,
  findFingerprintWarning,
  findTeamIdWarning,
} from "../contract/rules/app-rules.ts";
import type { Scope } from "../contract/rights.ts";
import { androidAppStore, iosAppStore, type AppStore } from "../store/apps.ts";

/** The names, messages, scopes and rules that differ between iOS and Android apps. */
export type AppKindRules<App, Fields, Values, Identifier extends string> = {
  readonly name: string;
  /** The field that identifies an app in its project: the bundle ID or the package name. */
  readonly identifier: Identifier;
  readonly notFound: string;
  /** The scope needed to register an app of this kind, even as part of a link. */
  readonly createScope: Scope;
  readonly showScope: Scope;
  readonly apps: AppStore<App, Values>;
  readonly check: (fields: Fields) => CheckedValues<Values>;
  /** Returns a warning if links could not open the app with these values. */
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
