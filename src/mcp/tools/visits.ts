import type { KnownKey } from "../../contract/access.ts";
import { contract } from "../../contract/index.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import type { JsonObject } from "../../contract/json.ts";
import { limits } from "../../contract/limits.ts";
import { toSentence } from "../../contract/problem.ts";
import { addQuery } from "../../contract/rules/address-query.ts";
import { findFingerprintWarning, findTeamIdWarning } from "../../contract/rules/app-rules.ts";
import { normalizePath, writeAddress } from "../../contract/rules/link-path.ts";
import { isBlank } from "../../contract/text.ts";
import { quote } from "../../text/show-hidden.ts";
import type { Mobile, VisitedApps, VisitedLink, VisitOptions } from "../../visit/decide-visit.ts";
import { explainVisits } from "../../visit/explain-link.ts";
import {
  findLinkProblems,
  readExplainedLink,
  systemNames,
} from "../../visit/find-link-problems.ts";
import type { Fact } from "../approval/question.ts";
import type { CallProblem } from "../results/call-problem.ts";
import type { KnownApps } from "../results/present-body.ts";
import type { AppChanges } from "./apps.ts";

/** Describes what visitors of a link see, before and after the link is written. */

/** Reads the settings of the project and the link host that affect what visitors see. */
export function readVisitOptions(
  { path }: Pick<VisitedLink, "path">,
  { linkHost, hasSecondHost, linkInReferrer }: KnownKey,
  query = "",
): VisitOptions {
  const isAddressed = linkHost !== undefined && !isBlank(normalizePath(path ?? ""));
  return {
    link_in_referrer: linkInReferrer,
    second_host: hasSecondHost,
    address: isAddressed ? addQuery(writeAddress(linkHost, path ?? ""), query) : undefined,
    query,
  };
}

/**
 * Describes what visitors will see after a change, in one line per platform. `before` is null for a
 * new link.
 */
export function listVisits(
  before: JsonObject | null,
  changes: JsonObject,
  apps: AppChanges,
  known: KnownKey,
): readonly Fact[] {
  const { ios_app: _ios, android_app: _android, ...fields } = changes;
  const name = "visitors will see";
  // The cast is safe, because the server validates the record and the new fields.
  const link = {
    ...before,
    ...fields,
    ...(apps.ios_app && { ios_app_id: apps.ios_app.after_id }),
    ...(apps.android_app && { android_app_id: apps.android_app.after_id }),
  } as VisitedLink;
  const unread = before === null ? [] : listUnreadFields(link);
  if (unread.length > 0) {
    return [{ name, text: `unknown, because the server did not return ${toSentence(unread)}` }];
  }
  const visited = { ios_app: apps.ios_app?.after, android_app: apps.android_app?.after };
  const { visits } = explainVisits(link, visited, readVisitOptions(link, known));
  const describePhone = (platform: Mobile) =>
    isAppUnread(platform, link, apps)
      ? `unknown, because the ${systemNames[platform]} app could not be read completely`
      : describeMobile(visits[platform]);
  const items = [
    `iPhone: ${describePhone("ios")}`,
    `Android: ${describePhone("android")}`,
    `Computer: ${describeOutcome(visits.desktop)}`,
  ];
  return [{ name, kind: "list", items }];
}

/** Whether what visitors see depends on a field of the app that was not read. */
function isAppUnread(platform: Mobile, link: VisitedLink, apps: AppChanges): boolean {
  const { after, after_id } = apps[`${platform}_app`] ?? {};
  // An unregistered app has no ID. The call contains all its fields.
  if (isBlank(after_id)) return false;
  const opensStore = isBlank(link[`${platform}_fallback_url`]);
  if (after === undefined) return opensStore;
  const { opens, store } = decidingFields[platform];
  const needed = opensStore ? [opens, store] : [opens];
  return needed.some((field) => after[field] === undefined);
}

/** The fields that decide whether an app opens, and where it is in its store. */
const decidingFields = {
  ios: { opens: "team_id", store: "app_store_id" },
  android: { opens: "fingerprints", store: "package_name" },
} as const;

type PlatformVisits = ReturnType<typeof explainVisits>["visits"];

function describeMobile({ with_app, without_app }: PlatformVisits["ios"]): string {
  const rest = describeOutcome(without_app);
  return with_app.action === "open_app" ? `the app; without the app, ${rest}` : rest;
}

function describeOutcome({ action, to }: PlatformVisits["desktop"]): string {
  const place = to === undefined ? undefined : quote(to, limits.web_address_characters);
  switch (action) {
    case "redirect":
      return `a redirect to ${place}`;
    case "preview_page":
      return place === undefined ? "the preview page" : `the preview page, then ${place}`;
    case "open_app":
      return "the app";
    case "default_page":
      return "the default page, because the link has no destination";
  }
}

const destinations = ["url", "ios_fallback_url", "android_fallback_url"] as const;
const appIds = ["ios_app_id", "android_app_id"] as const;
const visitedFields = [...destinations, "enable_forced_redirect", ...appIds];

/** Lists the fields that decide where visitors go and that a remote server did not return. */
export function listUnreadFields(link: JsonObject): readonly string[] {
  const opensStore = (platform: Mobile) =>
    (link[`${platform}_app_id`] ?? null) !== null && isBlank(link[`${platform}_fallback_url`]);
  const fields = [
    ...visitedFields,
    ...(opensStore("ios") ? ["provider_token", "campaign_token"] : []),
    ...(opensStore("android") ? ["referrer"] : []),
  ];
  return fields.filter((field) => link[field] === undefined);
}

/**
 * Finds problems of a link or app that was just written. Sends no request, and assumes that apps it
 * has not read are correct.
 */
export function findWrittenProblems(
  { body: fields }: Endpoint,
  before: JsonObject,
  sent: JsonObject,
  written: JsonObject,
  { apps, known }: { readonly apps: KnownApps; readonly known: KnownKey },
): readonly CallProblem[] {
  const { links, iosApps, androidApps } = contract;
  if (fields === iosApps.create.body) {
    return listWarning("team_id", "the Team ID", findTeamIdWarning(written));
  }
  if (fields === androidApps.create.body) {
    return listWarning("fingerprints", "all SHA-256 fingerprints", findFingerprintWarning(written));
  }
  if (fields !== links.create.body || typeof written["id"] !== "string") return [];
  const { ios_app: _ios, android_app: _android, ...plain } = sent;
  // The cast is safe, because the schemas have validated the response and the arguments.
  const link = { ...before, ...plain, ...written } as VisitedLink;
  // A field that the response omits may still have a value, so nothing can be reported as missing.
  if (listUnreadFields(link).length > 0) return [];
  const visited: VisitedApps = {
    ios_app: apps.get(link.ios_app_id ?? ""),
    android_app: apps.get(link.android_app_id ?? ""),
  };
  const explained = readExplainedLink(link, visited, readVisitOptions(link, known));
  const found = findLinkProblems(explained).filter(({ code }) => code !== "app_unknown");
  return found.map(({ code: _code, ...problem }) => problem);
}

function listWarning(
  field: string,
  needed: string,
  warning: string | undefined,
): readonly CallProblem[] {
  const fix = `Ask the user for ${needed}, then update the app.`;
  return warning === undefined ? [] : [{ field, message: `${warning}.`, fix }];
}
