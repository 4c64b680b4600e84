/** Turns field names into words for people, such as "iOS fallback". */

const words: Readonly<Record<string, string>> = {
  url: "web address",
  ios_fallback_url: "iOS fallback",
  android_fallback_url: "Android fallback",
  enable_forced_redirect: "skip the preview page",
  social_image_url: "social image",
  ios_app_id: "iOS app",
  android_app_id: "Android app",
  referrer: "Google Play referrer",
  provider_token: "App Store provider token",
  campaign_token: "App Store campaign token",
  ios_deferred_deep_linking_enabled: "deferred link on iOS",
  shortened_path: "short path",
  created_at: "created",
  updated_at: "changed",
  app_store_id: "App Store ID",
  custom_scheme: "URL scheme",
  clip_bundle_id: "App Clip bundle ID",
  fingerprints: "SHA-256 fingerprints",
  max_links: "link limit",
  home_url: "home page",
  not_found_url: "404 page",
  destinations: "allowed destinations",
};

/** Returns a field's name in words, for use within a sentence. */
export function writeWords(name: string): string {
  if (Object.hasOwn(words, name)) return words[name] ?? name;
  return name
    .replaceAll("_", " ")
    .replace(/\b(id|url|css|api)\b/g, (word) => word.toUpperCase())
    .replace(/\bios\b/g, "iOS")
    .replace(/\bandroid\b/g, "Android");
}

/**
 * Replaces field names with words, in a sentence that was written for developers and assistants.
 */
export function writeFieldsInWords(sentence: string): string {
  return sentence.replace(/\b(?:url|referrer|[a-z]+(?:_[a-z]+)+)\b/g, (name) =>
    Object.hasOwn(words, name) ? `“${writeLabel(name)}”` : name,
  );
}

/** Returns a field's name in words, as a label that starts with a capital letter. */
export function writeLabel(name: string): string {
  const label = writeWords(name);
  return label.startsWith("iOS") ? label : label.charAt(0).toUpperCase() + label.slice(1);
}
