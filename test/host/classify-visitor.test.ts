import { describe, expect, test } from "vitest";
import { android_app, ios_app } from "../contract/sample-link.ts";
import { openLinkHost, type LinkHost } from "../support/link-host.ts";
import { openForAll } from "../support/open-for.ts";

import agents from "./user-agents.json" with { type: "json" };

/** Which visitors are recognized by their user agent, and which are counted. */

let host: LinkHost;
let id: string;

const path = "everywhere";
const places = {
  ios: "https://ios.example/",
  android: "https://android.example/",
  desktop: "https://desktop.example/",
};

openForAll(openLinkHost, async (opened) => {
  host = opened;
  const link = await host.add("link", {
    path,
    url: places.desktop,
    ios_fallback_url: places.ios,
    android_fallback_url: places.android,
    enable_forced_redirect: true,
    ios_app: { bundle_id: ios_app.bundle_id, team_id: ios_app.team_id },
    android_app: {
      package_name: android_app.package_name,
      fingerprints: android_app.fingerprints,
    },
  });
  id = link.id;
});

const people = [
  ...Object.entries(agents.ios).map((entry) => [...entry, "ios"] as const),
  ...Object.entries(agents.android).map((entry) => [...entry, "android"] as const),
  ...Object.entries(agents.desktop).map((entry) => [...entry, "desktop"] as const),
];

describe("a visit", () => {
  test.each(people)(
    "redirects to the URL for the visitor's device and is counted: %s",
    async (_, agent, to) => {
      const before = await host.readClicks(id);
      const visited = await host.visit(`/${path}`, { agent });
      expect(visited.status).toBe(302);
      expect(visited.headers.location).toBe(places[to]);
      expect(await host.readClicks(id)).toBe(before + 1);
    },
  );
});

describe("the visit count", () => {
  test.each(Object.entries(agents.bots))(
    "excludes visits by the bot %s, which gets a page with social tags",
    (_, agent) => expectUncounted(200, { agent }),
  );

  test.each(Object.entries(agents.tools))(
    "excludes visits by the tool %s, which is redirected",
    (_, agent) => expectUncounted(302, { agent }),
  );

  test("excludes HEAD requests", () => expectUncounted(302, { method: "HEAD" }));

  test.each([
    ["purpose", "prefetch"],
    ["sec-purpose", "prefetch"],
    ["sec-purpose", "prefetch;prerender"],
    ["x-purpose", "preview"],
    ["x-moz", "prefetch"],
  ])("excludes prefetch requests with the header %s: %s", (name, value) =>
    expectUncounted(302, { headers: { [name]: value } }),
  );
});

test("an iPhone with an overlong user agent is recognized", async () => {
  const agent = `Mozilla/5.0 (iPhone) ${"x".repeat(5000)}`;
  const visited = await host.visit(`/${path}`, { agent });
  expect(visited.headers.location).toBe(places.ios);
});

test("only the first 512 characters of a user agent decide how a visit is classified", async () => {
  const phone = "Mozilla/5.0 (iPhone) ".padEnd(512, "x");
  const visited = await host.visit(`/${path}`, { agent: `${phone} Googlebot/2.1` });
  expect(visited).toMatchObject({ status: 302, headers: { location: places.ios } });
  await expectUncounted(200, { agent: `${phone.slice(0, 490)} Googlebot/2.1` });
  const unknown = "Mozilla/5.0 (Windows NT 10.0) ".padEnd(512, "x");
  const other = await host.visit(`/${path}`, { agent: `${unknown} (iPhone)` });
  expect(other.headers.location).toBe(places.desktop);
});

async function expectUncounted(
  status: number,
  given: Parameters<LinkHost["visit"]>[1],
): Promise<void> {
  const before = await host.readClicks(id);
  expect((await host.visit(`/${path}`, given)).status).toBe(status);
  expect(await host.readClicks(id)).toBe(before);
}
