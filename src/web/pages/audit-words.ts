import { writeLabel } from "../../text/write-label.ts";

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
  loop: { title: "Going in circles", severity: "broken" },
  no_destination: { title: "Leading nowhere", severity: "broken" },
  deleted_app: { title: "An app that is not registered any more", severity: "broken" },
  no_ios_destination: { title: "Leading nowhere on iPhones without the app", severity: "broken" },
  no_android_destination: {
    title: "Leading nowhere on Android without the app",
    severity: "broken",
  },
  invalid_field: { title: "A field that the API would refuse now", severity: "broken" },
  app_invalid: { title: "An app with a wrong value", severity: "broken", of: "apps" },
  short_fingerprints: {
    title: "Fingerprints that Android ignores",
    severity: "broken",
    of: "apps",
  },
  no_desktop_destination: { title: "Nothing of their own on desktops", severity: "doubtful" },
  app_without_store_id: { title: "Apps without an App Store id", severity: "doubtful", of: "apps" },
  no_open_button: { title: "Apps that no button can open", severity: "doubtful", of: "apps" },
  app_unknown: { title: "An app that is not known here", severity: "doubtful" },
  campaign_token_unfit: {
    title: "A campaign token that Apple does not take",
    severity: "doubtful",
  },
  http_address: { title: "An address without https", severity: "doubtful" },
  hidden_characters: { title: "Characters that nobody sees", severity: "doubtful" },
  deferred_linking_without_app: {
    title: "Deferred deep linking without an app",
    severity: "doubtful",
  },
  deferred_linking_without_page: {
    title: "Deferred deep linking without the preview page",
    severity: "doubtful",
  },
  app_fields_ignored: { title: "Fields of an app that are ignored", severity: "idle" },
  store_tokens_unused: { title: "Store tokens that are not used", severity: "idle" },
  referrer_unused: { title: "A referrer that is not used", severity: "idle" },
  duplicate: { title: "The same link at several paths", severity: "idle" },
  never_clicked: { title: "Never visited", severity: "idle" },
};

export function findKind(code: string): Kind {
  const known = Object.hasOwn(kinds, code) ? kinds[code] : undefined;
  return known ?? { title: code.replaceAll("_", " "), severity: "doubtful" };
}

/** An assistant is told what to ask of a person, who is here already, and the names of fields. */
export function tellPlainly(message: string, field: string): string {
  const sentences = message.split(/(?<=[.?])\s+/);
  const told = sentences.filter((sentence) => !sentence.startsWith("Ask ")).join(" ");
  const isField = field !== "" && told.startsWith(`${field} `);
  return isField ? writeLabel(field) + told.slice(field.length) : told;
}
