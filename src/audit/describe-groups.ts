import { ownLinkFilters, type FilterInput } from "../contract/filters.ts";
import type { JsonObject } from "../contract/json.ts";
import type { ReadLink } from "../contract/links.ts";
import { dropHidden, quote } from "../text/show-hidden.ts";
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
    const mend = fix?.({ ...finding, among });
    return {
      code,
      ...(field !== undefined && { field }),
      count,
      message: typeof message === "string" ? message : message(finding),
      ids,
      ...(mend && { fix: mend }),
    };
  });
}

type Kind = {
  readonly message: string | ((finding: Finding) => string);
  readonly fix?: (finding: Told) => Fix | undefined;
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
      `Their ${field} is not registered any more, so they do not open it. The fix takes it off; ` +
      "or ask which app they should open.",
    fix: (finding) => planRows(finding, () => ({ [finding.field ?? ""]: null })),
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
  destination_unreachable: {
    message: ({ detail }) => `Nothing answers where they lead: ${detail.rule}. Ask where else to.`,
  },
  destination_error_status: {
    message: ({ detail }) => `What they lead to is not there: ${detail.rule}. Ask where else to.`,
  },
  similar_host: {
    message: ({ detail: { host = "", meant = "" } }) =>
      `They lead to ${quote(host)}, which looks like ${quote(meant)}, where others lead. Ask ` +
      "which of the two is meant; the fix puts in the other one.",
    fix: (finding) => {
      const { host = "", meant = "" } = finding.detail;
      const wider = { condition: "cont", value: host } as const;
      return planReplacement(finding, { from: host, to: meant, match: "host" }, wider);
    },
  },
  destination_redirects_elsewhere: {
    message: ({ detail }) =>
      `Visitors end on another site: ${detail.rule}. Ask whether they should.`,
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
      "The fix makes it https; ask whether the host has that.",
    fix: (finding) => {
      const all = { condition: "start", value: "http://" } as const;
      return planReplacement(finding, { from: "http://", to: "https://", match: "text" }, all);
    },
  },
  hidden_characters: {
    message: "Their names have characters that nobody sees. The fix takes them out.",
    fix: (finding) => planRows(finding, ({ name }) => ({ name: dropHidden(name ?? "") })),
  },
  deferred_linking_without_app: {
    message: "They ask for deferred deep linking without an iOS app. The fix ends that.",
    fix: (finding) => planRows(finding, () => ({ ios_deferred_deep_linking_enabled: false })),
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

const mostRows = 10;
const mostCharacters = 900;

/** A plan for as many of them as make a short call; when it is applied, the next audit has less. */
function planRows({ first }: Finding, change: (link: ReadLink) => JsonObject): Fix | undefined {
  const planned: JsonObject[] = [];
  for (const found of first.slice(0, mostRows)) {
    const row = { id: found.id, ...change(found) };
    if (JSON.stringify([...planned, row]).length > mostCharacters) break;
    planned.push(row);
  }
  if (planned.length === 0) return undefined;
  return { tool: "plan_links", arguments: { operation: "update", rows: planned } };
}

/**
 * The same for one text of a field that is another one in all of them. More links than were kept
 * are named by what stands in the field: what the rule does not find there stays as it is.
 */
function planReplacement(
  { field, first, count, among }: Told,
  replacement: JsonObject,
  wider: Pick<FilterInput, "condition" | "value">,
): Fix | undefined {
  const paths = first.flatMap(({ path }) => path ?? []);
  if (field === undefined || paths.length === 0) return undefined;
  const isTaken = among.some((one) => one.field === field && one.condition === wider.condition);
  const isNamed = count > paths.length && Object.hasOwn(ownLinkFilters, field) && !isTaken;
  const filters: readonly FilterInput[] = isNamed
    ? [...among, { field, ...wider }]
    : [{ field: "path", condition: "in", value: paths }];
  const replace = [{ field, ...replacement }];
  return { tool: "plan_links", arguments: { operation: "update", filters, replace } };
}
