import { html as writeHtml, raw } from "hono/html";

/** A piece of a page: what is put into it is escaped, unless it is such a piece itself. */
export type Html = ReturnType<typeof raw>;

export function html(strings: TemplateStringsArray, ...values: readonly unknown[]): Html {
  // Only a promise among the values makes it a promise, and no page of ours has one.
  return writeHtml(shorten(strings), ...values) as Html;
}

/** What indents our own lines is not sent; what is put in stays as it is. */
function shorten(strings: TemplateStringsArray): TemplateStringsArray {
  const texts = strings.map((text) => text.replace(/\s*\n\s*/g, "\n"));
  return Object.assign(texts, { raw: strings.raw });
}

/** Markup that another room of ours has made, and escaped. */
export function trust(markup: string): Html {
  return raw(markup);
}
