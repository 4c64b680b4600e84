import { html as writeHtml, raw } from "hono/html";

/** Markup, whose values were escaped when it was written. */
export type Html = ReturnType<typeof raw>;

/** What markup may contain: false, null and undefined render nothing. */
export type Part = Html | string | number | false | null | undefined | readonly Part[];

export function html(strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  // Only a promise among the values makes it a promise, and the type of the values has none.
  return writeHtml(shorten(strings), ...values) as Html;
}

/** Leaves out the indentation of our own lines; values stay as they are. */
function shorten(strings: TemplateStringsArray): TemplateStringsArray {
  const texts = strings.map((text) => text.replace(/\s*\n\s*/g, "\n"));
  return Object.assign(texts, { raw: strings.raw });
}

/** Marks markup as safe that other code has written and escaped. */
export function trust(markup: string): Html {
  return raw(markup);
}
