import type { RecordKind } from "../account.ts";
import type { Field } from "../form-fields.ts";

/** The two kinds of apps, as their pages tell them apart. */
export type AppKind = {
  readonly name: RecordKind & ("ios_app" | "android_app");
  /** In addresses. */
  readonly slug: string;
  readonly label: string;
  readonly heading: string;
  /** The field by which systems know an app. */
  readonly identifier: string;
  /** By what links are asked for that use one. */
  readonly linkFilter: string;
  readonly fields: readonly Field[];
};

const name: Field = {
  name: "name",
  kind: "text",
  hint: "Shown to visitors where a link offers the app.",
};
const scheme: Field = {
  name: "custom_scheme",
  kind: "text",
  isExact: true,
  hint: "Such as myapp. The Open button of a link's page opens the app by it.",
};

export const appKinds: readonly AppKind[] = [
  {
    name: "ios_app",
    slug: "ios",
    label: "iOS app",
    heading: "iOS",
    identifier: "bundle_id",
    linkFilter: "ios_app_bundle_id",
    fields: [
      name,
      {
        name: "bundle_id",
        kind: "text",
        isExact: true,
        hint: "Such as com.example.app, as in Xcode.",
      },
      {
        name: "team_id",
        kind: "text",
        isExact: true,
        hint: "Ten characters: at developer.apple.com, under Membership.",
      },
      {
        name: "app_store_id",
        label: "App Store ID",
        kind: "text",
        isExact: true,
        hint: "The digits in its App Store address. Without it nobody is led to the store.",
      },
      scheme,
      {
        name: "clip_bundle_id",
        label: "App Clip bundle ID",
        kind: "text",
        isExact: true,
        hint: "Where the app has an App Clip.",
      },
    ],
  },
  {
    name: "android_app",
    slug: "android",
    label: "Android app",
    heading: "Android",
    identifier: "package_name",
    linkFilter: "android_app_package_name",
    fields: [
      name,
      {
        name: "package_name",
        kind: "text",
        isExact: true,
        hint: "Such as com.example.app, as in Google Play.",
      },
      {
        name: "fingerprints",
        label: "SHA-256 fingerprints",
        kind: "lines",
        isBroad: true,
        isExact: true,
        hint: "Of each certificate that signs it, a line each: Play Console, App signing.",
      },
      scheme,
    ],
  },
];

/** As the address of a page has it. */
export function findAppKind(slug: string | undefined): AppKind | undefined {
  return appKinds.find((kind) => kind.slug === slug);
}

export function writeAppAddress({ slug }: AppKind, id: string): string {
  return `/apps/${slug}/${encodeURIComponent(id)}`;
}
