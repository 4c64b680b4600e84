import type { Browser, Page } from "playwright-core";

/** What a page did in a real browser. */
export type PageLoad = {
  readonly page: Page;
  /** The browser's messages about errors in the page. */
  readonly faults: readonly string[];
  /** The requested addresses, in order. */
  readonly requests: readonly string[];
};

export type Device = {
  readonly userAgent: string;
  readonly viewport: { readonly width: number; readonly height: number };
  readonly isMobile: boolean;
};

/** Opens an address on a device, and records errors and requests. */
export async function openOnDevice(
  browser: Browser,
  device: Device,
  address: string,
): Promise<PageLoad> {
  const context = await browser.newContext({ ...device, hasTouch: device.isMobile });
  const page = await context.newPage();
  const faults: string[] = [];
  const requests: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(address);
  // By the second frame the browser has requested everything; no page runs a script.
  await page.evaluate(secondFrame);
  return { page, faults, requests };
}

const secondFrame =
  "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))";
