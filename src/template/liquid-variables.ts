import { cut } from "./liquid-filters.ts";
import { readVisibleTitle, type PageSubject } from "./page-input.ts";

/** Template variables and their documentation. */
const variables = {
  link: {
    name: "The title that visitors see: social_title, else the app's name, else the host.",
    url: "Where the link redirects on desktop.",
    path: "The link's path.",
    address: "The full address of the link.",
    social_title: "The title in shared previews.",
    social_description: "The description in shared previews.",
    social_image_url: "The address of the image in shared previews.",
  },
  apps: {
    ios: {
      name: "The iOS app's name. Without an iOS app on the link, apps.ios is nil.",
      bundle_id: "The iOS app's bundle ID.",
      app_store_id: "The iOS app's App Store ID.",
    },
    android: {
      name: "The Android app's name. Without an Android app on the link, apps.android is nil.",
      package_name: "The Android app's package name.",
    },
  },
  platform: 'The platform of the visitor: "ios", "android" or "desktop".',
  project: { name: "The project's name." },
} as const;

type Documented = { readonly [name: string]: string | Documented };

export function buildVariables(subject: PageSubject): object {
  const { link, apps, platform, project } = subject;
  return {
    link: pick(variables.link, { ...link, name: readVisibleTitle(subject) }),
    apps: {
      ios: apps.ios === undefined ? null : pick(variables.apps.ios, apps.ios),
      android: apps.android === undefined ? null : pick(variables.apps.android, apps.android),
    },
    platform,
    project: pick(variables.project, project),
  };
}

function pick<Name extends string>(
  names: Readonly<Record<Name, string>>,
  values: Readonly<Record<NoInfer<Name>, string | null>>,
): object {
  return Object.fromEntries(
    Object.keys(names).map((name) => {
      // The cast is safe, because `names` has only keys of this type.
      const value = values[name as Name];
      return [name, value === null ? null : cut(value)];
    }),
  );
}

/** Properties that Liquid adds to strings and lists. */
const textProperties = new Set(["size", "first", "last"]);

/** Explains, in a sentence, why a variable does not exist. Returns undefined if it exists. */
export function findVariableFault(segments: readonly unknown[]): string | undefined {
  let place: string | Documented = variables;
  for (const [index, segment] of segments.entries()) {
    // The value of a computed segment is known only during rendering.
    if (typeof segment !== "string") return undefined;
    if (typeof place === "string") {
      return textProperties.has(segment) ? undefined : describe(segments, index);
    }
    const next: string | Documented | undefined = Object.hasOwn(place, segment)
      ? place[segment]
      : undefined;
    if (next === undefined) return describe(segments, index, place);
    place = next;
  }
  return undefined;
}

function describe(segments: readonly unknown[], index: number, place?: Documented): string {
  const name = segments
    .slice(0, index + 1)
    .join(".")
    .slice(0, 100);
  const parent = segments.slice(0, index).join(".");
  if (place === undefined) return `${name} does not exist: ${parent} is text.`;
  const known = Object.keys(place).join(", ");
  return index === 0
    ? `The variable ${name} does not exist. Use one of: ${known}.`
    : `${name} does not exist: ${parent} has ${known}.`;
}
