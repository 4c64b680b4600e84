import { html as writeHtml, raw } from "hono/html";

/** A piece of a page: what is put into it is escaped, unless it is such a piece itself. */
export type Html = ReturnType<typeof raw>;

export function html(strings: TemplateStringsArray, ...values: readonly unknown[]): Html {
  // Only a promise among the values makes it a promise, and no page of ours has one.
  return writeHtml(strings, ...values) as Html;
}

/** Markup that another room of ours has made, and escaped. */
export function trust(markup: string): Html {
  return raw(markup);
}
