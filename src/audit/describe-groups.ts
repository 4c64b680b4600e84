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
    const onward = ` The fix changes ${covers} of them. Run the audit again for the other ${rest}.`;
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
      "Visitors are redirected in a loop: the destination is a link in this project that " +
      "redirects back. Ask for the right destination, and set it.",
  },
  no_destination: { message: "Visitors have nowhere to go. Ask for a destination, and set url." },
  deleted_app: {
    message: ({ field }) =>
      `The app in ${field} was deleted, so these links do not open it. Ask which app they should ` +
      "open. The fix only removes the deleted app.",
    fix: (finding) => planChanges(finding, { [finding.field ?? ""]: null }, undefined),
  },
  no_ios_destination: {
    message:
      "iOS visitors without the app have nowhere to go. Ask for a destination, and set " +
      "ios_fallback_url or url, or set app_store_id on the app.",
  },
  no_android_destination: {
    message:
      "Android visitors without the app have nowhere to go. Ask for a destination, and set " +
      "android_fallback_url or url.",
  },
  no_desktop_destination: {
    message: "Desktop visitors see the project's default page. Ask for a destination, and set url.",
  },
  invalid_field: {
    message: ({ detail }) => `${detail.rule}. The API would reject this value today.`,
  },
  app_invalid: { message: ({ detail }) => `${detail.rule}. Ask for the right value, and set it.` },
  team_id_unfit: {
    message:
      "The Team ID of these apps is not ten capital letters and digits, so iOS will not open " +
      "them. Ask for the right one, and set it.",
  },
  short_fingerprints: {
    message:
      "These apps have fingerprints that Android ignores, because they are not SHA-256 (32 " +
      "pairs). Ask for SHA-256 fingerprints, and set them.",
  },
  app_without_store_id: {
    message:
      "These iOS apps have no App Store ID, so links cannot redirect to the App Store. Ask for " +
      "it, and set app_store_id.",
  },
  no_open_button: {
    message:
      "The preview page cannot open these iOS apps without a custom_scheme, because it is on the " +
      "links' own domain. Ask for one, and set it.",
  },
  app_fields_ignored: { message: "The app is already registered, so its fields are ignored." },
  app_unknown: { message: "The app of these links could not be read." },
  campaign_token_unfit: {
    message: "Apple rejects the campaign_token of these links. Ask for another one, and set it.",
  },
  http_address: {
    message: ({ field }) =>
      `${field} is http, not https: others can read and change the page. ` +
      "Ask whether the host supports https. The fix changes http to https.",
    fix: planHttps,
  },
  hidden_characters: {
    message: "The names of these links contain invisible characters. The fix removes them.",
    fix: planNames,
  },
  deferred_linking_without_app: {
    message: "Deferred deep linking has no effect without an iOS app. The fix turns it off.",
    fix: (finding) =>
      planChanges(finding, { ios_deferred_deep_linking_enabled: false }, withoutIosApp),
  },
  deferred_linking_without_page: {
    message:
      "Deferred deep linking needs the preview page, which enable_forced_redirect skips. Ask " +
      "which of the two to keep, and turn the other off.",
  },
  store_tokens_unused: {
    message:
      "provider_token and campaign_token have no effect: these links do not send iOS visitors to " +
      "the App Store.",
  },
  referrer_unused: {
    message: "referrer has no effect: these links do not pass it to Google Play.",
  },
  duplicate: {
    message: ({ detail: { sets = 1 } }) =>
      `${sets === 1 ? "These links have" : `In each of ${sets} groups, the links have`} the same ` +
      "name, destinations and apps, but different paths. Ask whether all of them are in use.",
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
