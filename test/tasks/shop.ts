import { expect } from "vitest";
import { sha256 } from "../contract/sample-link.ts";
import type { End, PlantedLink, Place, Result } from "./task.ts";

/** The project of most tasks: a shop with apps and links of several ages. */

const shopApps = {
  ios_app: { bundle_id: "com.acme.shop" },
  android_app: { package_name: "com.acme.shop" },
};

/** Values that some servers hide, so that no task may change them. */
const hiddenOfLink = {
  social_description: "For sunny days",
  social_image_url: "https://www.acme.example/sun.png",
  provider_token: "123456",
  campaign_token: "sun",
};
const hasHiddenValues = ({ path }: PlantedLink) => /^(?:spring|summer)/.test(path);
const isOfShop = ({ bundle_id }: Result) => /\.(?:shop|legacy)$/.test(bundle_id);
const hiddenOfApp = { clip_bundle_id: "com.acme.shop.Clip", app_store_id: "123456789" };

const links: readonly PlantedLink[] = [
  { path: "spring-2025", name: "Spring 2025", url: "https://www.acme.example/last", age: 300 },
  { path: "plans", name: "What it costs", url: "https://www.acme.example/pricing", age: 100 },
  { path: "help", name: "Help", url: "https://www.acme.example/help", clicks: 5, age: 90 },
  {
    path: "spring",
    name: "Spring sale",
    url: "https://old.acme.example/spring?ref=1",
    social_title: "Spring is here",
    clicks: 120,
    age: 40,
    ...shopApps,
  },
  { path: "promo", name: "Promo", url: "https://www.acme.example/promo", clicks: 900, age: 30 },
  {
    path: "spring-shoes",
    name: "Spring shoes",
    url: "https://old.acme.example/shoes",
    clicks: 30,
    age: 5,
    ios_app: { bundle_id: "com.acme.legacy" },
  },
  {
    path: "summer",
    name: "Summer launch",
    url: "https://www.acme.example/summer",
    clicks: 12,
    age: 3,
    ...shopApps,
  },
  { path: "test-1", name: "Test one", url: "https://www.acme.example/1", clicks: 1, age: 2 },
  { path: "test-2", name: "Test two", url: "https://www.acme.example/2", age: 1 },
];

export async function openShop({ api, plant }: Place): Promise<void> {
  const ios = { team_id: "ABCDE12345", ...hiddenOfApp };
  const apps = [
    ["ios_app", { ...ios, bundle_id: "com.acme.shop", name: "Acme Shop" }],
    ["ios_app", { ...ios, bundle_id: "com.acme.legacy", name: "Acme Legacy" }],
    [
      "android_app",
      {
        package_name: "com.acme.shop",
        fingerprints: [sha256],
        name: "Acme Shop",
        custom_scheme: "acme",
      },
    ],
  ] as const;
  // Writes at the same time share a commit, which halves the time of the tasks.
  await Promise.all(apps.map(([kind, app]) => api("POST", `/${kind}s`, { [kind]: app })));
  const plantFull = (link: PlantedLink) =>
    plant({ ...link, ...(hasHiddenValues(link) && hiddenOfLink) });
  await Promise.all(links.map(plantFull));
}

/** Expects the shop's remaining records to have the values that some servers hide. */
export async function expectHiddenValues({ api }: End): Promise<void> {
  const { status, body } = await api("GET", "/links?limit=100");
  // The key of a deleted project is unknown.
  expect([200, 401]).toContain(status);
  const { links: kept = [] } = body;
  const { ios_apps = [] } = (await api("GET", "/ios_apps")).body;
  for (const link of kept.filter(hasHiddenValues)) {
    expect(link).toMatchObject({ ...hiddenOfLink, url: expect.any(String) });
  }
  for (const app of ios_apps.filter(isOfShop)) expect(app).toMatchObject(hiddenOfApp);
}
