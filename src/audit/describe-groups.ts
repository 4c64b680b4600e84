import { ownLinkFilters, type FilterInput } from "../contract/filters.ts";
import type { JsonObject } from "../contract/json.ts";
import { dropHidden } from "../text/show-hidden.ts";
import type { AuditFinding, FindingCode } from "./findings.ts";

/** Describes the findings of an audit, worst first, and how to fix them. */

export type FindingGroup = {
  readonly code: string;
  readonly field?: string;
  readonly count: number;
  readonly message: string;
  /** Filters that match exactly the links of this finding. */
  readonly filters?: readonly FilterInput[];
  readonly ids: readonly string[];
  readonly fix?: Fix;
};

/** The tool call that fixes the links. A person must approve it first. */
type Fix = { readonly tool: string; readonly arguments: JsonObject };

type CoveringFix = Fix & { readonly covers: number };

type FilteredFinding = AuditFinding & {
  readonly among: readonly FilterInput[];
  /** True if the server supports filters that only Waypost has. */
  readonly hasOwnFilters: boolean;
};

export function describeGroups(
  findings: readonly AuditFinding[],
  selection: Pick<FilteredFinding, "among" | "hasOwnFilters">,
): readonly FindingGroup[] {
  const order = Object.keys(kinds);
  const sorted = findings.toSorted(
    (one, other) => order.indexOf(one.code) - order.indexOf(other.code) || other.count - one.count,
  );
  return sorted.map((finding) => {
    const { code, field, count, ids } = finding;
    const { message, fix } = kinds[code];
    const { covers = count, ...fixCall } = fix?.({ ...finding, ...selection }) ?? {};
    const text = typeof message === "string" ? message : message(finding);
    const rest = count - covers;
    const onward = ` The fix changes ${covers} of them. Run the audit again for the other ${rest}.`;
    return {
      code,
      ...(field !== undefined && { field }),
      count,
      message: rest > 0 ? text + onward : text,
      ids,
      ...("tool" in fixCall && { fix: fixCall }),
    };
  });
}

type FindingKind = {
  readonly message: string | ((finding: AuditFinding) => string);
  readonly fix?: (finding: FilteredFinding) => CoveringFix | undefined;
};

const kinds: Readonly<Record<FindingCode, FindingKind>> = {
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

/**
 * The size limit for the rows of a fix. Assistants may make mistakes when they copy longer text.
 */
const mostCharacters = 1800;

/** Plans a row per link, because each link needs its own name. Stops at the size limit. */
function planNames({ first }: FilteredFinding): CoveringFix | undefined {
  const rows = first.map(({ id, name }) => ({ id, name: dropHidden(name ?? "") }));
  const isFit = (count: number) => JSON.stringify(rows.slice(0, count)).length <= mostCharacters;
  const fitting = rows.filter((_, index) => isFit(index + 1));
  if (fitting.length === 0) return undefined;
  return { ...planUpdate({ rows: fitting }), covers: fitting.length };
}

/**
 * Plans the same change for all links. If the finding lists only some of its links, uses the filter
 * `wider`, which may also match links that need no fix.
 */
function planChanges(
  finding: FilteredFinding,
  changes: JsonObject,
  wider: FilterInput | undefined,
): CoveringFix | undefined {
  const { filters, covers } = selectLinks(finding, wider);
  return covers === 0 ? undefined : { ...planUpdate({ filters, changes }), covers };
}

/**
 * Changes http URLs in a field to https, but not the URLs in their queries. If the finding does not
 * list all links, selects them with a filter for `http://`.
 */
function planHttps(finding: FilteredFinding): CoveringFix | undefined {
  const { field } = finding;
  if (field === undefined) return undefined;
  const startsWithHttp = { field, condition: "start", value: "http://" } as const;
  const hasFilter = finding.hasOwnFilters && Object.hasOwn(ownLinkFilters, field);
  const { filters, covers } = selectLinks(finding, hasFilter ? startsWithHttp : undefined);
  const replace = [{ field, from: "http://", to: "https://", match: "start" }];
  return covers === 0 ? undefined : { ...planUpdate({ filters, replace }), covers };
}

type SelectedLinks = { readonly filters: readonly FilterInput[]; readonly covers: number };

/**
 * Selects the links by path. If the finding lists only some of its links, uses the filter `wider`.
 */
function selectLinks(
  { first, count, among }: FilteredFinding,
  wider: FilterInput | undefined,
): SelectedLinks {
  const paths = first.flatMap(({ path }) => path ?? []);
  const isAlreadyFiltered = among.some(
    ({ field, condition }) => field === wider?.field && condition === wider.condition,
  );
  if (wider !== undefined && count > paths.length && paths.length > 0 && !isAlreadyFiltered) {
    return { filters: [...among, wider], covers: count };
  }
  return { filters: [{ field: "path", condition: "in", value: paths }], covers: paths.length };
}

function planUpdate(by: JsonObject): Fix {
  return { tool: "plan_links", arguments: { operation: "update", ...by } };
}
