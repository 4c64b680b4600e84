import { expect, test } from "vitest";
import { openTab, lookAtPage } from "../support/browser.ts";
import { openLinkHost, type LinkHost } from "../support/link-host.ts";
import { openForAll } from "../support/open-for.ts";
import { addApps } from "./add-apps.ts";

import agents from "./user-agents.json" with { type: "json" };

/** The default page in a browser: accessibility, screen sizes and pictures. */

let host: LinkHost;
const name = "The Extraordinarily Long Named Application For Everything";
const picture = "https://pictures.example/wide.svg";
const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630"/>';
const userAgents = {
  phone: agents.ios["Instagram's browser on an iPhone"],
  desktop: agents.desktop["Chrome on Windows"],
};

openForAll(openLinkHost, async (opened) => {
  host = opened;
  const apps = await addApps(host, { ios: name, android: name });
  await host.add("link", {
    path: "full",
    social_title: "تخفيضات الربيع: خصم على كل شيء ".repeat(8),
    social_description: "Everything must go. ".repeat(30),
    social_image_url: picture,
    ...apps,
  });
  await host.add("link", { path: "plain", ...apps });
});

async function openPage(path: string, device: keyof typeof userAgents, language: string) {
  const extraHTTPHeaders = { "accept-language": language };
  const page = await openTab({ userAgent: userAgents[device], extraHTTPHeaders });
  await page.route(picture, (route) => route.fulfill({ body: svg, contentType: "image/svg+xml" }));
  await page.goto(`${host.origin}/${path}`);
  return page;
}

async function openOnComputer(address: string) {
  const page = await openTab({ userAgent: userAgents.desktop });
  const faults: string[] = [];
  const requests: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(address);
  // By the second frame the browser has requested everything; no page runs a script.
  await page.evaluate(
    "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))",
  );
  return { page, faults, requests };
}

test.each([
  ["full", "phone", "ar"],
  ["full", "desktop", "de"],
  ["plain", "phone", "en"],
  ["nothing", "phone", "he"],
  ["", "desktop", "en"],
] as const)(
  "the page /%s on a %s in the language %s has no accessibility problems",
  async (path, device, language) => {
    const page = await openPage(path, device, language);
    await lookAtPage(page, `host ${path} ${device} ${language}`);
  },
);

test.each([
  { width: 740, height: 360 },
  { width: 667, height: 375 },
  { width: 360, height: 740 },
  { width: 320, height: 568 },
])("the main button is visible without scrolling at $width×$height", async (size) => {
  const page = await openPage("full", "phone", "fr");
  await page.setViewportSize(size);
  const box = await page.locator(".store-button-primary").boundingBox();
  expect((box?.y ?? 0) + (box?.height ?? Infinity)).toBeLessThanOrEqual(size.height);
});

test("the page for a missing link loads without further requests", async () => {
  const address = `${host.origin}/nothing`;
  const { page, faults, requests } = await openOnComputer(address);
  // The browser reports the status of the response as an error too.
  expect(faults.filter((text) => !text.includes("404"))).toEqual([]);
  expect(requests).toEqual([address]);
  expect(await page.title()).toBe("Link not found");
});

test.each(["", "?format=png"])(
  "a browser displays the QR code requested with the query %j",
  async (query) => {
    const { page, faults } = await openOnComputer(`${host.origin}/plain.qr${query}`);
    expect(faults).toEqual([]);
    const shape = query === "" ? page.locator("path").nth(1) : page.locator("img");
    expect((await shape.boundingBox())?.width).toBeGreaterThan(100);
  },
);

test("a broken image takes up as much space on the page as a working image", async () => {
  const page = await openPage("full", "phone", "en");
  const measure = async () => {
    const { width = 0, height = 1 } = (await page.locator(".picture").boundingBox()) ?? {};
    return width / height;
  };
  expect(await measure()).toBeCloseTo(1200 / 630, 1);
  await page.unroute(picture);
  await page.route(picture, (route) => route.fulfill({ status: 404 }));
  await page.reload();
  expect(await measure()).toBeCloseTo(1200 / 630, 1);
  // The placeholder covers the browser's icon for a broken image.
  const shown = "getComputedStyle(document.querySelector('.picture-front'), '::after')";
  expect(await page.evaluate(`${shown}.backgroundImage`)).toContain("linear-gradient");
  expect(await page.evaluate(`${shown}.position`)).toBe("absolute");
});
