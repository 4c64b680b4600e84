import { describe, expect, test } from "vitest";
import { chooseLanguage, pageTexts } from "../../src/template/page-texts.ts";

/** Choosing the language of the default page. */

describe("the default page", () => {
  test.each([
    ["de", "de"],
    ["de-AT, en;q=0.5", "de"],
    ["en;q=0.5, fr-CH;q=0.9", "fr"],
    ["en;q=0.5,\tpt-BR ; q=0.8 , it;q=0", "pt"],
    ["zh-CN", "zh-Hans"],
    ["zh-Hans-HK", "zh-Hans"],
    ["ZH-hans", "zh-Hans"],
    ["iw-IL", "he"],
    ["sv, nb;q=0.9, nl;q=0.1", "nl"],
    // No page is in traditional Chinese, so the next language is used.
    ["zh-TW, ja;q=0.9", "ja"],
    ["zh-Hant-HK, zh;q=0.5", "zh-Hans"],
    ["es;q=0.8, ar;q=0.8", "es"],
  ])(
    "is in the preferred available language of the Accept-Language header: %s gives %s",
    (accepted, language) => {
      expect(chooseLanguage(accepted)).toBe(language);
    },
  );

  test.each([
    undefined,
    "",
    "sv",
    "*",
    "*, de",
    "de;q=0",
    "de;q=2",
    "de;q=nonsense",
    "d\u00e9",
    "constructor, __proto__",
    ",;=,;;",
    "-, -de",
    `${"sv,".repeat(100_000)}de`,
    `x${"-x".repeat(100_000)}`,
  ])("is in English if the Accept-Language header names no available language (%#)", (accepted) => {
    expect(chooseLanguage(accepted)).toBe("en");
  });
});

test.each(Object.entries(pageTexts))(
  "the texts in the language %s contain each placeholder exactly once",
  (_, texts) => {
    for (const text of Object.values(texts)) expect(text).toBe(text.trim());
    const places = Object.values(texts).flatMap((text) => text.match(/\{\w+\}/g) ?? []);
    expect(places.toSorted()).toEqual(["{app}", "{browser}", "{menu}"]);
    expect(texts.open).toContain("{app}");
    expect(texts.app_store).toContain("App Store");
    expect(texts.play_store).toContain("Google Play");
    expect(texts.dir).toBe(/\p{Script=Arabic}|\p{Script=Hebrew}/u.test(texts.open) ? "rtl" : "ltr");
  },
);
