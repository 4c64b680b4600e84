import type { Browser, Page } from "playwright-core";

/** What a page did in a real browser. */
export type Looked = {
  readonly page: Page;
  /** What went wrong in the page, in the browser's own words. */
  readonly faults: readonly string[];
  /** The addresses that were asked for, in their order. */
  readonly requests: readonly string[];
};

export type Device = {
  readonly userAgent: string;
  readonly viewport: { readonly width: number; readonly height: number };
  readonly isMobile: boolean;
};

/** Opens an address as a device does, and notes everything that comes of it. */
export async function look(browser: Browser, device: Device, address: string): Promise<Looked> {
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
  // By the second picture the browser has asked for all that the page needs; none runs a script.
  await page.evaluate(secondPicture);
  return { page, faults, requests };
}

const secondPicture =
  "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))";
