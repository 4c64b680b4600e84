/** A page of links as it is put into a frame: light or dark, with links that open nothing. */

export const looks = ["light", "dark"] as const;
export type Look = (typeof looks)[number];

export function readLook(text: string | null): Look {
  return looks.find((look) => look === text) ?? "light";
}

const doctype = /^\s*<!doctype[^>]*>/i;
const query = /\(\s*prefers-color-scheme\s*:\s*(light|dark)\s*\)/gi;
const meta = /<meta name="color-scheme" content="[^"]*">/i;
const declared = /(?<![-\w])color-scheme\s*:\s*[a-z][a-z ]*/gi;

/**
 * A page cannot choose the color scheme that the style sheet of its frame asks the system for.
 * Links open a window, which the frame's policy does not allow.
 */
export function writeFramed(page: string, look: Look): string {
  const [start = ""] = doctype.exec(page) ?? [];
  const rest = page
    .slice(start.length)
    // The first is true on any screen, the second on none.
    .replace(query, (_, scheme: string) =>
      scheme.toLowerCase() === look ? "(min-width:0)" : "(max-width:0)",
    )
    .replace(meta, `<meta name="color-scheme" content="${look}">`)
    .replace(declared, `color-scheme:${look}`);
  return `${start}<base target="_blank">${rest}`;
}
