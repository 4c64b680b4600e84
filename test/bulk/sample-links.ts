import * as fc from "fast-check";
import type { Link } from "../../src/contract/links.ts";

/** Random links of the API, with text that a spreadsheet or a careless reader could damage. */

const text = fc
  .array(
    fc.constantFrom(
      "'",
      "=",
      "+",
      "-",
      "@",
      "\t",
      "\r",
      "\n",
      '"',
      ",",
      ";",
      " ",
      "a",
      "é",
      "＝",
      "＠",
      "''",
      "\r\n",
      "😀",
      "true",
      "null",
      "\ufeff",
      "0123",
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((parts) => parts.join(""));
const stored = fc.option(text);

export const anyLink: fc.Arbitrary<Link> = fc.record({
  id: fc.uuid(),
  name: stored,
  path: text,
  url: stored,
  social_description: stored,
  social_image_url: stored,
  social_title: stored,
  shortened_path: stored,
  android_fallback_url: stored,
  ios_fallback_url: stored,
  referrer: stored,
  provider_token: stored,
  campaign_token: stored,
  android_app_id: fc.option(fc.uuid()),
  ios_app_id: fc.option(fc.uuid()),
  enable_forced_redirect: fc.boolean(),
  ios_deferred_deep_linking_enabled: fc.boolean(),
  clicks: fc.nat(),
});

/** Returns the fields of a request that creates the same link. Empty text means no text. */
export function fieldsOf(link: Link): Readonly<Record<string, unknown>> {
  const { id: _, shortened_path: __, clicks: ___, ios_app_id, android_app_id, ...plain } = link;
  const texts = Object.entries(plain).map(([name, value]) => [name, value ?? ""]);
  return {
    ...Object.fromEntries(texts),
    ios_app: ios_app_id === null ? null : { id: ios_app_id },
    android_app: android_app_id === null ? null : { id: android_app_id },
  };
}
