import { writeFieldsInWords } from "../../text/write-label.ts";

/** What an audit finds, in words for whoever mends it by hand. */

export type Severity = "broken" | "doubtful" | "idle";

export const severities: Readonly<Record<Severity, string>> = {
  broken: "Broken for visitors",
  doubtful: "Worth a look",
  idle: "Good to know",
};

type Kind = {
  readonly title: string;
  readonly severity: Severity;
  /** What the ids are of. */
  readonly of?: "apps";
};

const kinds: Readonly<Record<string, Kind>> = {
  loop: { title: "Redirect loop", severity: "broken" },
  no_destination: { title: "No destination", severity: "broken" },
  deleted_app: { title: "Deleted app", severity: "broken" },
  no_ios_destination: { title: "No destination on iPhones without the app", severity: "broken" },
  no_android_destination: {
    title: "No destination on Android without the app",
    severity: "broken",
  },
  invalid_field: { title: "Invalid field", severity: "broken" },
  app_invalid: { title: "Invalid app", severity: "broken", of: "apps" },
  team_id_unfit: {
    title: "Team IDs that are not in Apple's format",
    severity: "broken",
    of: "apps",
  },
  short_fingerprints: {
    title: "Fingerprints that Android ignores",
    severity: "broken",
    of: "apps",
  },
  no_desktop_destination: {
    title: "No destination on computers",
    severity: "doubtful",
  },
  app_without_store_id: { title: "Apps without an App Store ID", severity: "doubtful", of: "apps" },
  no_open_button: {
    title: "Apps that the Open button cannot open",
    severity: "doubtful",
    of: "apps",
  },
  app_unknown: { title: "Unknown app", severity: "doubtful" },
  campaign_token_unfit: {
    title: "Campaign token that Apple rejects",
    severity: "doubtful",
  },
  http_address: { title: "Address without HTTPS", severity: "doubtful" },
  hidden_characters: { title: "Invisible characters", severity: "doubtful" },
  deferred_linking_without_app: {
    title: "Deferred link without an app",
    severity: "doubtful",
  },
  deferred_linking_without_page: {
    title: "Deferred link without the preview page",
    severity: "doubtful",
  },
  app_fields_ignored: { title: "Ignored app fields", severity: "idle" },
  store_tokens_unused: { title: "Unused App Store tokens", severity: "idle" },
  referrer_unused: { title: "Unused Google Play referrer", severity: "idle" },
  duplicate: { title: "Same link at several paths", severity: "idle" },
  never_clicked: { title: "No clicks", severity: "idle" },
};

export function findKind(code: string): Kind {
  const known = Object.hasOwn(kinds, code) ? kinds[code] : undefined;
  return known ?? { title: code.replaceAll("_", " "), severity: "doubtful" };
}

/** An assistant is told what to ask of a person, who is here already, and the names of fields. */
export function tellPlainly(message: string): string {
  const sentences = message.split(/(?<=[.?])\s+/);
  return writeFieldsInWords(sentences.filter((each) => !each.startsWith("Ask ")).join(" "));
}
