import { pageTexts, type PageLanguage } from "./page-texts.ts";

/** Browsers send only a few languages, so longer lists are cut. */
const mostRanges = 20;
const mostCharacters = 500;

/**
 * Chooses the supported language that a visitor prefers (RFC 9110, section 12.5.4). Unsupported
 * regions and scripts fall back to their language (RFC 4647, section 3.4). Visitors without a
 * supported language get English.
 */
export function chooseLanguage(accepted: string | undefined): PageLanguage {
  const ranges = (accepted ?? "")
    .slice(0, mostCharacters)
    .split(",", mostRanges)
    .map(readRange)
    .filter(({ quality }) => quality > 0)
    .toSorted((one, other) => other.quality - one.quality);
  for (const { tag } of ranges) {
    if (tag === "*") break;
    const found = findLanguage(tag);
    if (found !== undefined) return found;
  }
  return "en";
}

/** The attributes of a page's `<html>` element. */
export function describeLanguage(language: PageLanguage): string {
  return `lang="${language}" dir="${pageTexts[language].dir}"`;
}

function readRange(range: string): { readonly tag: string; readonly quality: number } {
  const [tag = "", ...parameters] = range.toLowerCase().split(";");
  const qualities = parameters.map((parameter) => /^\s*q\s*=\s*(\S*)\s*$/.exec(parameter)?.[1]);
  const quality = qualities.find((text) => text !== undefined) ?? "1";
  return {
    tag: tag.trim(),
    quality: /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(quality) ? Number(quality) : 0,
  };
}

/** The supported languages by lower-case tag, with older tags that some browsers send. */
const languages: ReadonlyMap<string, PageLanguage> = new Map([
  ...Object.keys(pageTexts).map(
    // `Object.keys` returns plain strings.
    (language) => [language.toLowerCase(), language as PageLanguage] as const,
  ),
  ["iw", "he"],
  ["zh", "zh-Hans"],
  ["zh-cn", "zh-Hans"],
  ["zh-sg", "zh-Hans"],
]);

/** Readers of traditional Chinese get their next language instead of simplified Chinese. */
const otherScript = /^zh-(?:hant|tw|hk|mo)(?:-|$)/;

function findLanguage(tag: string): PageLanguage | undefined {
  if (otherScript.test(tag)) return undefined;
  for (let rest = tag; rest !== ""; rest = rest.replace(/-?[^-]*$/, "")) {
    const found = languages.get(rest);
    if (found !== undefined) return found;
  }
  return undefined;
}
