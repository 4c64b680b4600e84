import { ownLinkFilters, type FilterInput } from "../contract/filters.ts";
import type { JsonObject } from "../contract/json.ts";
import { dropHidden } from "../text/show-hidden.ts";
import type { Finding, FindingCode } from "./findings.ts";

/** Findings as a person reads them: the worst first, each with what mends it. */

export type Group = {
  readonly code: string;
  readonly field?: string;
  readonly count: number;
  readonly message: string;
  /** They name exactly these links. */
  readonly filters?: readonly FilterInput[];
  readonly ids: readonly string[];
  readonly fix?: Fix;
};

/** A call that changes nothing before a person has said yes to what it would do. */
type Fix = { readonly tool: string; readonly arguments: JsonObject };

/** And of how many it takes care. */
type Mend = Fix & { readonly covers: number };

/** A finding among the links that these filters name. */
type Told = Finding & { readonly among: readonly FilterInput[] };

export function describeGroups(
  findings: readonly Finding[],
  among: readonly FilterInput[],
): readonly Group[] {
  const order = Object.keys(kinds);
  const sorted = findings.toSorted(
    (one, other) => order.indexOf(one.code) - order.indexOf(other.code) || other.count - one.count,
  );
  return sorted.map((finding) => {
    const { code, field, count, ids } = finding;
    const { message, fix } = kinds[code];
    const { covers = count, ...mend } = fix?.({ ...finding, among }) ?? {};
    const told = typeof message === "string" ? message : message(finding);
    const rest = count - covers;
    const onward = ` It is for ${covers} of them; audit again after it for the other ${rest}.`;
    return {
      code,
      ...(field !== undefined && { field }),
      count,
      message: rest > 0 ? told + onward : told,
      ids,
      ...("tool" in mend && { fix: mend }),
    };
  });
}

type Kind = {
  readonly message: string | ((finding: Finding) => string);
  readonly fix?: (finding: Told) => Mend | undefined;
};

/** The worst first. */
const kinds: Readonly<Record<FindingCode, Kind>> = {
  loop: {
    message:
      "Visitors go in circles: the destination is a link of this project that leads back. Ask " +
      "where they should arrive, and set that.",
  },
  no_destination: { message: "Visitors arrive nowhere. Ask where they should, and set url." },
  deleted_app: {
    message: ({ field }) =>
      `Their ${field} is not registered any more, so they do not open it. Ask which app they ` +
      "should open; the fix takes it off.",
    fix: (finding) => planChanges(finding, { [finding.field ?? ""]: null }, undefined),
  },
  no_ios_destination: {
    message:
      "iOS visitors without the app arrive nowhere. Ask where they should, and set " +
      "ios_fallback_url or url, or app_store_id of their app.",
  },
  no_android_destination: {
    message:
      "Android visitors without the app arrive nowhere. Ask where they should, and set " +
      "android_fallback_url or url.",
  },
  no_desktop_destination: {
    message:
      "Desktop visitors meet the project's default page. Ask where else to lead them; set url.",
  },
  invalid_field: { message: ({ detail }) => `${detail.rule}; the API would refuse it now.` },
  app_invalid: { message: ({ detail }) => `${detail.rule}. Ask for the right value, and set it.` },
  short_fingerprints: {
    message:
      "These Android apps have fingerprints that are not SHA-256 (32 pairs), which Android " +
      "ignores. Ask for the SHA-256 ones, and set fingerprints.",
  },
  app_without_store_id: {
    message:
      "These iOS apps have no App Store id, so that links cannot lead to the store. Ask for it, " +
      "and set app_store_id.",
  },
  no_open_button: {
    message:
      "The preview page cannot open these iOS apps: on the links' own domain iOS stays in the " +
      "browser. Ask for a custom_scheme, and set it.",
  },
  app_fields_ignored: { message: "The app is registered already; its fields are ignored." },
  app_unknown: { message: "The record of their app is not at hand." },
  campaign_token_unfit: {
    message: "Apple does not take their campaign_token. Ask for another one, and set it.",
  },
  http_address: {
    message: ({ field }) =>
      `${field} is http, not https: others can read and change the page. ` +
      "Ask whether the host takes that; the fix makes it https.",
    fix: planHttps,
  },
  hidden_characters: {
    message: "Their names have characters that nobody sees. The fix takes them out.",
    fix: planNames,
  },
  deferred_linking_without_app: {
    message: "They ask for deferred deep linking without an iOS app. The fix ends that.",
    fix: (finding) =>
      planChanges(finding, { ios_deferred_deep_linking_enabled: false }, withoutIosApp),
  },
  deferred_linking_without_page: {
    message:
      "Deferred deep linking needs the preview page, which enable_forced_redirect skips. Ask " +
      "which of the two is wanted, and end the other.",
  },
  store_tokens_unused: {
    message: "provider_token and campaign_token are not used: iOS visitors meet no App Store page.",
  },
  referrer_unused: {
    message: "referrer is not used: Android visitors do not meet Google Play with it.",
  },
  duplicate: {
    message: ({ detail: { sets = 1 } }) =>
      `${sets === 1 ? "They have" : `In ${sets} sets they have`} the same name, destinations and ` +
      "apps at several paths. Ask whether all of these are in use.",
  },
};

const withoutIosApp = { field: "ios_app_bundle_id", condition: "null", value: true } as const;

/** As much as a model copies without a slip. */
const mostCharacters = 1800;

/** Of the first of them: each name becomes another one, so that no rule makes them. */
function planNames({ first }: Told): Mend | undefined {
  const rows = first.map(({ id, name }) => ({ id, name: dropHidden(name ?? "") }));
  const isFit = (count: number) => JSON.stringify(rows.slice(0, count)).length <= mostCharacters;
  const fitting = rows.filter((_, index) => isFit(index + 1));
  if (fitting.length === 0) return undefined;
  return { ...planUpdate({ rows: fitting }), covers: fitting.length };
}

/**
 * The same change for all of them. More links than were kept are named by what they have in common
 * with others: those that are as they should be stay so.
 */
function planChanges(
  finding: Told,
  changes: JsonObject,
  wider: FilterInput | undefined,
): Mend | undefined {
  const { filters, covers } = nameAll(finding, wider);
  return covers === 0 ? undefined : { ...planUpdate({ filters, changes }), covers };
}

/** Where not all links were kept, the filter names them by what the field begins with. */
function planHttps(finding: Told): Mend | undefined {
  const { field } = finding;
  if (field === undefined) return undefined;
  const begins = { field, condition: "start", value: "http://" } as const;
  const isNamed = Object.hasOwn(ownLinkFilters, field);
  const { filters, covers } = nameAll(finding, isNamed ? begins : undefined);
  const replace = [{ field, from: "http://", to: "https://", match: "text" }];
  return covers === 0 ? undefined : { ...planUpdate({ filters, replace }), covers };
}

type Named = { readonly filters: readonly FilterInput[]; readonly covers: number };

/** By their paths, or where not all of them were kept, by what they have in common. */
function nameAll({ first, count, among }: Told, wider: FilterInput | undefined): Named {
  const paths = first.flatMap(({ path }) => path ?? []);
  const isTaken = among.some(
    ({ field, condition }) => field === wider?.field && condition === wider.condition,
  );
  if (wider !== undefined && count > paths.length && paths.length > 0 && !isTaken) {
    return { filters: [...among, wider], covers: count };
  }
  return { filters: [{ field: "path", condition: "in", value: paths }], covers: paths.length };
}

function planUpdate(by: JsonObject): Fix {
  return { tool: "plan_links", arguments: { operation: "update", ...by } };
}
