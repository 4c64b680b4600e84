import { html as writeHtml, raw } from "hono/html";

/** Builds HTML from templates, and escapes their values. */

/** HTML with escaped values. */
export type Html = ReturnType<typeof raw>;

/** What HTML may contain. False, null and undefined render nothing. */
export type Part = Html | string | number | false | null | undefined | readonly Part[];

export function html(strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  // `writeHtml` returns a promise only if a value is a promise, which `Part` excludes.
  return writeHtml(shorten(strings), ...values) as Html;
}

/** Removes the indentation of the template's own lines. Values stay unchanged. */
function shorten(strings: TemplateStringsArray): TemplateStringsArray {
  const texts = strings.map((text) => text.replace(/\s*\n\s*/g, "\n"));
  return Object.assign(texts, { raw: strings.raw });
}

/** Marks a string as safe HTML that other code has already escaped. */
export function trust(markup: string): Html {
  return raw(markup);
}
