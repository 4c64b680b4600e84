import { pageTexts, type PageLanguage } from "./page-texts.ts";

/** Browsers name a handful of languages; who names more has made them up. */
const mostRanges = 20;
const mostCharacters = 500;

/**
 * The language of ours that a visitor asks for first (RFC 9110, 12.5.4). A region or a script
 * that we do not have is led to its language (RFC 4647, 3.4); who asks for none of ours gets
 * English.
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

/** The attributes of a page that speaks a language; others' names bring their own direction. */
export function describeLanguage(language: PageLanguage): string {
  return `lang="${language}" dir="${pageTexts[language].dir}"`;
}

function readRange(range: string): { readonly tag: string; readonly quality: number } {
  const [tag = "", ...parameters] = range.toLowerCase().split(";");
  const given = parameters.map((parameter) => /^\s*q\s*=\s*(\S*)\s*$/.exec(parameter)?.[1]);
  const quality = given.find((text) => text !== undefined) ?? "1";
  return {
    tag: tag.trim(),
    quality: /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(quality) ? Number(quality) : 0,
  };
}

/** By their lower-case tags, with the names that browsers of before use. */
const languages: ReadonlyMap<string, PageLanguage> = new Map([
  ...Object.keys(pageTexts).map(
    // The keys are the languages.
    (language) => [language.toLowerCase(), language as PageLanguage] as const,
  ),
  ["iw", "he"],
  ["zh", "zh-Hans"],
  ["zh-cn", "zh-Hans"],
  ["zh-sg", "zh-Hans"],
]);

/** Who reads traditional characters alone is better served by what they ask for next. */
const otherScript = /^zh-(?:hant|tw|hk|mo)(?:-|$)/;

function findLanguage(tag: string): PageLanguage | undefined {
  if (otherScript.test(tag)) return undefined;
  for (let rest = tag; rest !== ""; rest = rest.replace(/-?[^-]*$/, "")) {
    const found = languages.get(rest);
    if (found !== undefined) return found;
  }
  return undefined;
}
