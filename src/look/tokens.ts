/** The design tokens of all pages: colors, font sizes, spacing and corners, each defined once. */

/** Each color has a value for light mode and one for dark mode. */
export const colours = {
  ground: ["#ffffff", "#0f1217"],
  side: ["#f6f8fa", "#14181f"],
  card: ["#ffffff", "#151a21"],
  well: ["#f6f8fa", "#1b212a"],
  ink: ["#1a1f36", "#e7eaf0"],
  soft: ["#545969", "#a3acba"],
  line: ["#e3e8ee", "#262d38"],
  edge: ["#87909f", "#6f7988"],
  accent: ["#4b45d6", "#a5a1ff"],
  "accent-over": ["#3a34b8", "#c0bdff"],
  "accent-soft": ["#eeedfc", "#232247"],
  "on-accent": ["#ffffff", "#12121f"],
  grave: ["#b3093c", "#ff8fa8"],
  "grave-over": ["#8c062f", "#ffb0c1"],
  "grave-soft": ["#fdf0f3", "#35171f"],
  good: ["#0a6b49", "#5fd0a2"],
  "good-soft": ["#e6f6ef", "#12301f"],
  "warn-soft": ["#fdf5e4", "#33280f"],
  "warn-line": ["#c98a1b", "#c98a1b"],
  old: ["#fdecea", "#331b1a"],
  "old-mark": ["#f6b9b3", "#6e2a26"],
  new: ["#e6f4ea", "#16291d"],
  "new-mark": ["#a9dcb8", "#28583a"],
  /** The logo has the same colors in both modes. */
  brand: ["#4b45d6", "#4b45d6"],
  /** The frames and backgrounds of drawn phones and screens. */
  device: ["#14161b", "#14161b"],
  "device-ink": ["#c3c8d2", "#c3c8d2"],
  day: ["#ffffff", "#ffffff"],
  night: ["#0d0e13", "#0d0e13"],
} as const;

export const visitColours = {
  "glow-one": ["#8b7bff4d", "#6a5bff40"],
  "glow-two": ["#38c6f466", "#1b8fc938"],
  "glow-three": ["#ff9ec74d", "#c34f8f2e"],
  shade: ["0 1px 2px #1b1f3b14, 0 24px 64px -16px #1b1f3b33", "0 1px 2px #00000080"],
  "accent-start": ["#7c6cff", "#7c6cff"],
  "accent-end": ["#22a6e8", "#22a6e8"],
} as const;

/** Sizes for the preview page, larger than others because visitors tap and read on phones. */
export const visitSizes = {
  radius: "2rem",
  "radius-inner": "1.25rem",
  space: "1.25rem",
  text: "1.0625rem",
  "text-small": "0.9375rem",
  "text-title": "1.75rem",
} as const;

const shades = ["0 1px 2px rgb(26 31 54 / .06), 0 2px 6px rgb(26 31 54 / .04)", "none"] as const;

const sizes = {
  text: ".875rem",
  small: ".8125rem",
  large: "1.0625rem",
  title: "1.375rem",
  s1: ".25rem",
  s2: ".5rem",
  s3: ".75rem",
  s4: "1rem",
  s5: "1.5rem",
  s6: "2rem",
  s7: "3rem",
  round: ".375rem",
  rounder: ".625rem",
} as const;

/** The visitor's system font, which needs no download. */
export const font =
  'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans",sans-serif';
const mono = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace';

/** CSS variables for pages that follow the system's light or dark mode. */
export const tokens = `
:root { color-scheme: light dark; --font: ${font}; --mono: ${mono};
  ${writeSizes()}
  ${writeColours(0)} }
@media (prefers-color-scheme: dark) {
  :root { ${writeColours(1)} }
}
`;

/** CSS variables for pages whose `data-theme` attribute selects light or dark mode. */
export const themedTokens = `
:root[data-theme="light"] { color-scheme: light; ${writeColours(0)} }
:root[data-theme="dark"] { color-scheme: dark; ${writeColours(1)} }
`;

function writeSizes(): string {
  return Object.entries(sizes)
    .map(([name, size]) => `--${name}: ${size};`)
    .join(" ");
}

function writeColours(theme: 0 | 1): string {
  const named = Object.entries(colours).map(([name, pair]) => `--${name}: ${pair[theme]};`);
  return [...named, `--shade: ${shades[theme]};`].join(" ");
}
