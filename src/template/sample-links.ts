import type { PageButton, PageLink, PageSubject } from "./page-input.ts";

/** The sample link that previews show by default. */
export const sampleLink: PageLink = {
  url: "https://www.example.com/spring",
  path: "spring",
  social_title: "Spring sale: 20% off everything",
  social_description: "Fresh colours, light layers and a discount on all of them. Until Sunday.",
  social_image_url: "https://www.example.com/spring.jpg",
  address: "https://links.example.com/spring",
};

export const sampleApps = {
  ios: {
    name: "Example Shop",
    bundle_id: "com.example.shop",
    app_store_id: "1234567890",
    clip_bundle_id: null,
    custom_scheme: "exampleshop",
    team_id: "ABCDE12345",
  },
  android: { name: "Example Shop", package_name: "com.example.shop", custom_scheme: "exampleshop" },
} as const;

const project = { name: "Example Shop" } as const;

const bareLink: PageLink = {
  url: null,
  path: "a",
  social_title: null,
  social_description: null,
  social_image_url: null,
  address: "https://links.example.com/a",
};

/** The sample pages for checking a template: two with all fields, and one with none. */
export const samples: readonly PageSubject[] = [
  { link: sampleLink, apps: sampleApps, project, platform: "ios" },
  { link: sampleLink, apps: sampleApps, project, platform: "android" },
  { link: bareLink, apps: {}, project, platform: "desktop" },
];

/** As many buttons as a page can have. */
export const sampleButtons: readonly PageButton[] = [
  { kind: "open", app: sampleApps.ios.name, href: "exampleshop://spring" },
  { kind: "app_store", app: null, href: "https://apps.apple.com/app/id1234567890" },
];
