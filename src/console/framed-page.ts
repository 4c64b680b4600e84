/** A page of links as it is put into a frame: by day or by night, with links that lead nowhere. */

export const looks = ["light", "dark"] as const;
export type Look = (typeof looks)[number];

export function readLook(text: string | null): Look {
  return looks.find((look) => look === text) ?? "light";
}

const doctype = /^\s*<!doctype[^>]*>/i;
const asked = /\(\s*prefers-color-scheme\s*:\s*(light|dark)\s*\)/gi;
const offered = /<meta name="color-scheme" content="[^"]*">/i;
const declared = /(?<![-\w])color-scheme\s*:\s*[a-z][a-z ]*/gi;

/**
 * Browsers do not let a page choose for its frame what the frame's own sheet asks of the system.
 * A link opens a window of its own, which the frame's policy does not allow.
 */
export function writeFramed(page: string, look: Look): string {
  const [start = ""] = doctype.exec(page) ?? [];
  const rest = page
    .slice(start.length)
    // Any screen is wider than nothing, and none is narrower.
    .replace(asked, (_, wanted: string) =>
      wanted.toLowerCase() === look ? "(min-width:0)" : "(max-width:0)",
    )
    .replace(offered, `<meta name="color-scheme" content="${look}">`)
    .replace(declared, `color-scheme:${look}`);
  return `${start}<base target="_blank">${rest}`;
}
