import { html, type Html } from "./html.ts";

/** Previews a link's page inside the outline of a phone or screen. */

export const platforms = ["ios", "android", "desktop"] as const;
export type DevicePlatform = (typeof platforms)[number];

const platformNames: Readonly<Record<DevicePlatform, string>> = {
  ios: "iPhone",
  android: "Android",
  desktop: "Computer",
};
const lookNames: Readonly<Record<Look, string>> = { light: "Light", dark: "Dark" };

export function readPlatform(text: string | null): DevicePlatform {
  return platforms.find((platform) => platform === text) ?? "ios";
}

type DeviceView = {
  readonly platform: DevicePlatform;
  readonly look: Look;
  readonly source: string;
  readonly host: string;
};

export function renderDevice({ platform, look, source, host }: DeviceView): Html {
  const title = `Preview page, ${platformNames[platform]}, ${lookNames[look].toLowerCase()}`;
  return html`<div class="device ${platform} ${look}">
    <p class="bar" aria-hidden="true">${host}</p>
    <div class="glass">
      <iframe
        src="${source}"
        title="${title}"
        sandbox
        referrerpolicy="no-referrer"
        loading="lazy"
      ></iframe>
    </div>
  </div>`;
}

/** Shown instead of a page if visitors with this device are redirected. */
export function renderLeave(platform: DevicePlatform, text: Html): Html {
  return html`<div class="device ${platform}">
    <p class="bar" aria-hidden="true"></p>
    <div class="glass leave"><p>${text}</p></div>
  </div>`;
}

/** Renders radio buttons for devices. The style sheet shows only the chosen device. */
export function renderPlatforms(chosen: DevicePlatform, form?: string): Html {
  return renderChoice({ name: "platform", legend: "Device", labels: platformNames, chosen, form });
}

export function renderLooks(chosen: Look, form?: string): Html {
  return renderChoice({ name: "look", legend: "Colors", labels: lookNames, chosen, form });
}

type RadioGroup = {
  readonly name: string;
  readonly legend: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly chosen: string;
  /** The ID of the form, if the radio buttons are outside of it. */
  readonly form: string | undefined;
};

function renderChoice({ name, legend, labels, chosen, form }: RadioGroup): Html {
  const of = form !== undefined && html` form="${form}"`;
  const inputs = Object.entries(labels).map(([value, label]) => {
    const checked = value === chosen && html` checked`;
    const input = html`<input type="radio" name="${name}" value="${value}" ${of} ${checked} />`;
    return html`<label>${input}${label}</label>`;
  });
  return html`<fieldset class="choice">
    <legend class="hidden">${legend}</legend>
    ${inputs}
  </fieldset>`;
}

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
 * Prepares a page for a frame. A frame cannot choose its color scheme, so color-scheme media
 * queries are replaced. Links do nothing: they open a new window, which the frame's policy blocks.
 */
export function writeFramed(page: string, look: Look): string {
  const [start = ""] = doctype.exec(page) ?? [];
  const rest = page
    .slice(start.length)
    // Replaces each color-scheme condition with one that is always true or always false.
    .replace(query, (_, scheme: string) =>
      scheme.toLowerCase() === look ? "(min-width:0)" : "(max-width:0)",
    )
    .replace(meta, `<meta name="color-scheme" content="${look}">`)
    .replace(declared, `color-scheme:${look}`);
  return `${start}<base target="_blank">${rest}`;
}
