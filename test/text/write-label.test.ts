import { expect, test } from "vitest";
import { writeFieldsInWords } from "../../src/text/write-label.ts";

/** Replacing the names of fields with their labels in the console. */
test.each([
  ["url is http, not https.", "“Web address” is http, not https."],
  [
    "provider_token and campaign_token have no effect.",
    "“App Store provider token” and “App Store campaign token” have no effect.",
  ],
  ["With enable_forced_redirect, iOS visitors…", "With “Skip the preview page”, iOS visitors…"],
  ["The path my_url_campaign stays.", "The path my_url_campaign stays."],
])("a console page shows field labels instead of field names: %s", (sentence, shown) => {
  expect(writeFieldsInWords(sentence)).toBe(shown);
});
