import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

/**
 * A page before axe, on a phone either way, a tablet and a desk, and there in the dark too. With
 * SCREENSHOTS=FOLDER each look is a picture there, to be looked at.
 */

const { SCREENSHOTS: shots } = process.env;
export const sizes = {
  phone: { width: 360, height: 740 },
  desktop: { width: 1440, height: 900 },
};
const screens = {
  ...sizes,
  landscape: { width: 740, height: 360 },
  tablet: { width: 768, height: 1024 },
};
/** In other colours all else is the same. */
const coloured = { runOnly: ["color-contrast", "link-in-text-block"] };
/** What is all right need not be described, and what is not is found by its HTML. */
const described = { resultTypes: ["violations"], selectors: false };
/** Taller ones are more than the browser draws at once. */
const mostHeight = 8000;
const light = Object.entries(screens).map(([name, size]) => {
  return { name, size, colorScheme: "light" } as const;
});
/** Colors do not depend on the screen. */
const looks = [...light, { name: "desktop", size: sizes.desktop, colorScheme: "dark" } as const];

/** Nothing that axe finds, and nothing that is wider than the screen. */
export async function lookAtPage(page: Page, name: string): Promise<void> {
  await page.evaluate(axe.source);
  for (const { name: screen, size, colorScheme } of looks) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme });
    await saveShot(page, `${name} ${screen} ${colorScheme}`);
    const only = colorScheme === "dark" ? coloured : {};
    const options = JSON.stringify({ iframes: false, ...described, ...only });
    const run = `axe.run(document, ${options}).then(({ violations }) => violations)`;
    const found = await page.evaluate<readonly Violation[]>(run);
    expect(describeFound(found), `${screen}, ${colorScheme}`).toEqual([]);
    const [wide, seen] = await page.evaluate<[number, number]>(
      "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
    );
    expect(wide, screen).toBeLessThanOrEqual(seen);
  }
}

type Violation = {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
};

function describeFound(violations: readonly Violation[]): readonly string[] {
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** With SCREENSHOTS=FOLDER alone. */
export async function saveShot(page: Page, name: string): Promise<void> {
  if (shots === undefined) return;
  await mkdir(shots, { recursive: true });
  const path = join(shots, `${name.replace(/\W+/g, "-")}.png`);
  const { width } = page.viewportSize() ?? sizes.desktop;
  // A frame that nobody could see is not painted.
  const height = await page.evaluate<number>("document.documentElement.scrollHeight");
  await page.setViewportSize({ width, height: Math.min(height, mostHeight) });
  await page.waitForTimeout(300);
  await page.screenshot({ path, fullPage: true });
}
