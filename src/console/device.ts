import { html, type Html } from "./html.ts";
import { looks, type Look } from "./framed-page.ts";

/** A page of links in its frame, on a phone or a screen that is drawn around it. */

export const platforms = ["ios", "android", "desktop"] as const;
export type Platform = (typeof platforms)[number];

const platformNames: Readonly<Record<Platform, string>> = {
  ios: "iPhone",
  android: "Android",
  desktop: "Computer",
};
const lookNames: Readonly<Record<Look, string>> = { light: "Light", dark: "Dark" };

export function readPlatform(text: string | null): Platform {
  return platforms.find((platform) => platform === text) ?? "ios";
}

type Device = {
  readonly platform: Platform;
  readonly look: Look;
  /** Where its page is. */
  readonly source: string;
  readonly host: string;
};

export function renderDevice({ platform, look, source, host }: Device): Html {
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

/** Where no page is met. */
export function renderLeave(platform: Platform, text: Html): Html {
  return html`<div class="device ${platform}">
    <p class="bar" aria-hidden="true"></p>
    <div class="glass leave"><p>${text}</p></div>
  </div>`;
}

type Choice<Name extends string> = {
  readonly name: string;
  readonly legend: string;
  readonly options: readonly Name[];
  readonly labels: Readonly<Record<Name, string>>;
  readonly chosen: Name;
  /** The form that it is of, where it stands elsewhere. */
  readonly form: string | undefined;
};

/** What is chosen is shown by the style alone, or else by the answer of the form that it is of. */
export function renderPlatforms(chosen: Platform, form?: string): Html {
  const named = { name: "platform", legend: "Device" };
  return renderChoice({ ...named, options: platforms, labels: platformNames, chosen, form });
}

export function renderLooks(chosen: Look, form?: string): Html {
  const named = { name: "look", legend: "Colors" };
  return renderChoice({ ...named, options: looks, labels: lookNames, chosen, form });
}

function renderChoice<Name extends string>(choice: Choice<Name>): Html {
  const { name, legend, options, labels, chosen, form } = choice;
  const of = form === undefined ? "" : html` form="${form}"`;
  const inputs = options.map((option) => {
    const checked = option === chosen ? html` checked` : "";
    return html`<label
      ><input type="radio" name="${name}" value="${option}" ${of} ${checked} />${
        labels[option]
      }</label
    >`;
  });
  return html`<fieldset class="choice">
    <legend class="hidden">${legend}</legend>
    ${inputs}
  </fieldset>`;
}

/** A host as an address bar shows it. */
export function showHost(host: string | undefined): string {
  return (host ?? "").replace(/^https?:\/\//, "");
}
