import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { explainVisits } from "../../src/visit/explain-visits.ts";
import { sha256 } from "../contract/sample-link.ts";
import { launchBrowser } from "../support/browser.ts";
import { openLinkHost, type LinkHost } from "../support/link-host.ts";
import { look, type Device } from "../support/look.ts";
import agents from "./user-agents.json" with { type: "json" };

/** What people see: every page in a real browser, as a phone and as a computer. */

let host: LinkHost;
let browser: Browser;

const devices = {
  ios: {
    userAgent: agents.ios["Safari on an iPhone"],
    viewport: { width: 390, height: 844 },
    isMobile: true,
  },
  android: {
    userAgent: agents.android["Chrome on a phone"],
    viewport: { width: 412, height: 915 },
    isMobile: true,
  },
  desktop: {
    userAgent: agents.desktop["Chrome on Windows"],
    viewport: { width: 1280, height: 800 },
    isMobile: false,
  },
} as const satisfies Record<string, Device>;

const ios_app = {
  bundle_id: "com.example.a",
  team_id: "ABCDE12345",
  app_store_id: "1",
  name: "Shop",
  custom_scheme: "shop",
};
const android_app = { package_name: "com.example.a", fingerprints: [sha256], name: "Shop" };

beforeAll(async () => {
  [host, browser] = await Promise.all([openLinkHost(), launchBrowser()]);
  await host.add("ios_app", ios_app);
  await host.add("android_app", android_app);
});
afterAll(async () => {
  await browser.close();
  await host[Symbol.asyncDispose]();
});

describe.each(Object.entries(devices))("on %s", (platform, device) => {
  test("a link's page is what its explanation says, and asks nobody for anything", async () => {
    const path = `page/${platform}`;
    const link = await host.add("link", {
      path,
      social_title: "Spring sale <b>40%</b> off",
      social_description: "Everything must go. ".repeat(20),
      ios_app: { bundle_id: ios_app.bundle_id },
      android_app: { package_name: android_app.package_name },
    });
    const address = `${host.origin}/${path}`;
    const { page, faults, requests } = await look(browser, device, address);
    expect(faults).toEqual([]);
    expect(requests).toEqual([address]);
    expect(await page.textContent("h1")).toBe(link.social_title);
    const { visits } = explainVisits(link, { ios_app, android_app }, { address });
    const told = { ios: visits.ios.without_app, android: visits.android.without_app };
    const said = platform === "desktop" ? visits.desktop : told[platform as "ios" | "android"];
    const ways = await page
      .locator("main a")
      .evaluateAll((all) => all.map((way) => (way as unknown as { href: string }).href));
    // Who has nowhere to go by a computer is shown both stores.
    expect(ways).toHaveLength(2);
    if (platform !== "desktop") expect(ways[1]).toBe(said.to);
    expect(await isWiderThanScreen(page)).toBe(false);
    await page.context().close();
  });

  test("a link with somewhere to go ends there, with nothing in between", async () => {
    const path = `onward/${platform}`;
    const to = `http://shop.localhost:${host.port}/${platform}`;
    const link = await host.add("link", { path, url: to });
    const { page, requests } = await look(browser, device, `${host.origin}/${path}`);
    expect(page.url()).toBe(to);
    expect(requests).toEqual([`${host.origin}/${path}`, to]);
    expect(await host.readClicks(link.id)).toBe(1);
    await page.context().close();
  });

  test("a link that is not there is said not to be", async () => {
    const address = `${host.origin}/nothing/${platform}`;
    const { page, faults, requests } = await look(browser, device, address);
    // The answer's own status, which a browser calls an error too.
    expect(faults.filter((text) => !text.includes("404"))).toEqual([]);
    expect(requests).toEqual([address]);
    expect(await page.title()).toBe("Link not found");
    expect(await isWiderThanScreen(page)).toBe(false);
    await page.context().close();
  });

  test("a link's pictures are pictures", async () => {
    await host.add("link", { path: `qr/${platform}` });
    for (const query of ["", "?format=png"]) {
      const address = `${host.origin}/qr/${platform}.qr${query}`;
      const { page, faults } = await look(browser, device, address);
      expect(faults).toEqual([]);
      const shape = query === "" ? page.locator("path").nth(1) : page.locator("img");
      expect((await shape.boundingBox())?.width).toBeGreaterThan(100);
      await page.context().close();
    }
  });
});

type Page = Awaited<ReturnType<typeof look>>["page"];

function isWiderThanScreen(page: Page): Promise<boolean> {
  return page.evaluate("document.documentElement.scrollWidth > window.innerWidth");
}
