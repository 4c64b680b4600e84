import { describe, expect, test } from "vitest";
import { explainVisits } from "../../src/visit/explain-link.ts";
import type { Link } from "../../src/contract/links.ts";
import { encodePath } from "../../src/contract/rules/link-path.ts";
import { listPageButtons, listPhoneStores } from "../../src/visit/page-buttons.ts";
import { decideVisit, type Platform } from "../../src/visit/decide-visit.ts";
import { updateProject } from "../../src/store/projects.ts";
import { sha1, sha256 } from "../contract/sample-link.ts";
import { openLinkHost, type LinkHost, type VisitReply } from "../support/link-host.ts";

import agents from "./user-agents.json" with { type: "json" };
import { openForAll } from "../support/open-for.ts";

/** Each row of the decision table is explained and visited, and both must agree. */

const url = "https://shop.example/spring?a=1#top";
const ios_fallback_url = "https://i.example/app";
const android_fallback_url = "https://a.example/app";

const iosApps = {
  "no iOS app": null,
  "an iOS app": { bundle_id: "com.example.whole", app_store_id: "123", custom_scheme: "shop" },
  "an iOS app without an App Store ID or custom scheme": { bundle_id: "com.example.bare" },
};
const androidApps = {
  "no Android app": null,
  "an Android app": { package_name: "com.example.whole", fingerprints: [sha256] },
  "an Android app with a custom scheme": {
    package_name: "com.example.scheme",
    fingerprints: [sha1],
    custom_scheme: "shop",
  },
};
const ways = {
  "no destination": {},
  "a web URL": { url },
  "fallback URLs": { ios_fallback_url, android_fallback_url },
  "a web URL and fallback URLs": { url, ios_fallback_url, android_fallback_url },
  "a web URL and campaign parameters": {
    url,
    provider_token: "117",
    campaign_token: "spring",
    referrer: "utm_source=a&b",
  },
};

type Row = {
  readonly title: string;
  readonly path: string;
  readonly ios: keyof typeof iosApps;
  readonly android: keyof typeof androidApps;
  readonly fields: object;
};

const rows: readonly Row[] = namesOf(iosApps).flatMap((ios, first) =>
  namesOf(androidApps).flatMap((android, second) =>
    Object.entries(ways).flatMap(([way, fields], third) =>
      [false, true].map((enable_forced_redirect) => ({
        title: `${ios}, ${android}, ${way}${enable_forced_redirect ? ", a forced redirect" : ""}`,
        path: `${first}/${second}/${third}/${enable_forced_redirect ? "forced é" : "free"}`,
        ios,
        android,
        fields: { ...fields, enable_forced_redirect },
      })),
    ),
  ),
);

/** The setting changes Google Play's referrer, and the preview page of an iOS app. */
const ofSetting = rows.filter(
  ({ ios, android }) => ios === "an iOS app" && android !== "no Android app",
);

const platforms: readonly Platform[] = ["ios", "android", "desktop"];
let turn = 0;

describe.each([
  { link_in_referrer: false, some: rows },
  { link_in_referrer: true, some: ofSetting },
])("a visit with link_in_referrer=$link_in_referrer", ({ link_in_referrer, some }) => {
  let host: LinkHost;
  openForAll(openLinkHost, async (opened) => {
    host = opened;
    const { id } = host.world.project;
    await host.world.store.write((db) => updateProject(db, id, { link_in_referrer }, 0));
  });

  test.each(some)("explainVisits correctly describes visits to a link with $title", async (row) => {
    const { link, apps } = await create(host, row);
    const address = `${host.origin}/${encodePath(link.path ?? "")}`;
    const { visits } = explainVisits(link, apps, { link_in_referrer, address });
    const told = { ios: visits.ios.without_app, android: visits.android.without_app };
    for (const platform of platforms) {
      const said = platform === "desktop" ? visits.desktop : told[platform];
      const given = { link_in_referrer, address };
      const visit = decideVisit(link, apps, { platform }, given);
      // A computer without a destination shows the stores for phones.
      const isLeft = platform === "desktop" && visit.action === "default_page";
      const ways = isLeft
        ? (listPhoneStores(link, apps, given) ?? [])
        : listPageButtons(visit, { platform, apps, address });
      for (const agent of takeTurns(agents[platform])) {
        const visited = await host.visit(new URL(address).pathname, { agent });
        expect({ agent, ...describeVisited(visited) }).toEqual({
          agent,
          action: said.action === "redirect" ? "redirect" : "page",
          to: said.to ?? (isLeft ? ways[0]?.href : undefined),
          buttons: ways.map(({ href }) => href),
        });
      }
    }
    for (const agent of takeTurns(agents.bots)) {
      const visited = await host.visit(new URL(address).pathname, { agent });
      expect(describeVisited(visited)).toEqual({ action: "page", to: undefined, buttons: [] });
    }
  });
});

/** Chooses two of the user agents, so that all rows together use every one of them. */
function takeTurns(group: Readonly<Record<string, string>>): readonly string[] {
  const names = Object.values(group);
  turn += 1;
  return [names[turn % names.length] ?? "", names[(turn + 1) % names.length] ?? ""];
}

async function create(host: LinkHost, { path, ios, android, fields }: Row) {
  // Advances the clock, because a key may only write 600 times a minute.
  host.world.advance(1000);
  const [ios_app, android_app] = [
    await register(host, "ios_app", iosApps[ios] && { team_id: "ABCDE12345", ...iosApps[ios] }),
    await register(host, "android_app", androidApps[android]),
  ];
  const link: Link = await host.add("link", {
    ...fields,
    path,
    ...(ios_app && { ios_app: { id: ios_app.id } }),
    ...(android_app && { android_app: { id: android_app.id } }),
  });
  return { link, apps: { ios_app, android_app } };
}

async function register(
  { world, add }: LinkHost,
  kind: "ios_app" | "android_app",
  fields: Readonly<Record<string, unknown>> | null,
) {
  if (fields === null) return undefined;
  const { body } = await world.call("GET", `/${kind}s`);
  const name = fields["bundle_id"] ?? fields["package_name"];
  type App = { readonly bundle_id?: string; readonly package_name?: string };
  const known = body[`${kind}s`].find((app: App) => (app.bundle_id ?? app.package_name) === name);
  return known ?? add(kind, fields);
}

function describeVisited({ status, headers, text }: VisitReply) {
  if (status === 302) return { action: "redirect", to: headers.location, buttons: [] };
  expect(status).toBe(200);
  const buttons = Array.from(text.matchAll(/<a [^>]*href="([^"]*)"/g), ([, href = ""]) =>
    href.replaceAll("&amp;", "&").replaceAll("&#39;", "'"),
  );
  return { action: "page", to: buttons.find((href) => /^https?:/.test(href)), buttons };
}

function namesOf<Group extends object>(group: Group): readonly (keyof Group)[] {
  return Object.keys(group) as (keyof Group)[];
}
