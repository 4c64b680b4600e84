import type { Page } from "playwright-core";
import { expect } from "vitest";

/**
 * Walks through a page with the Tab key. Checks that every control gets the focus in document
 * order, and that the focus is always visible.
 */
export async function walkPage(page: Page): Promise<void> {
  const all = await page.evaluate<readonly string[]>(begin);
  const reached: number[] = [0];
  const unseen: string[] = [];
  // A frame keeps the focus until the last control in it.
  for (let turn = 0; turn < all.length + mostInFrames; turn += 1) {
    if (reached.at(-1) === all.length - 1) break;
    await page.keyboard.press("Tab");
    const { at, isSeen, isOfChoice, isOfDate } = await page.evaluate<Step>(look);
    if (isOfChoice) continue;
    // No script can look at the parts of a date field. The field itself was checked.
    if (isOfDate && at === reached.at(-1)) continue;
    if (at !== reached.at(-1)) reached.push(at);
    if (!isSeen) unseen.push(all[at] ?? "nothing on the page");
  }
  expect(reached.map((at) => all[at])).toEqual(all);
  expect(unseen).toEqual([]);
}

type Step = {
  readonly at: number;
  readonly isSeen: boolean;
  /** A radio button. Only its label is visible. */
  readonly isOfChoice: boolean;
  /** A date field. The browser focuses its parts one by one. */
  readonly isOfDate: boolean;
};

const mostInFrames = 40;

/** Lists the controls. Radio buttons are left out, as Tab reaches only one of a group. */
const begin = `(() => {
  const kinds = "a[href], button, input, select, textarea, summary, iframe, [tabindex]";
  window.walked = [...document.querySelectorAll(kinds)].filter((element) =>
    element.tabIndex >= 0 && !element.disabled && element.type !== "radio" &&
    element.checkVisibility({ visibilityProperty: true }));
  window.walked[0]?.focus();
  return window.walked.map((element) =>
    element.outerHTML.replace(/value="[^"]*"/, "").replace(/\\s+/g, " ").slice(0, 120));
})()`;

/** Checks that the focused control has an outline, is on the screen and is not covered. */
const look = `(() => {
  const element = document.activeElement;
  const { left, right, top, bottom } = element.getBoundingClientRect();
  const [first] = element.getClientRects();
  const [x, y] = first ? [first.left + first.width / 2, first.top + first.height / 2] : [0, 0];
  const above = document.elementFromPoint(x, y);
  const isFree = above === null || element.contains(above) || above.contains(element);
  const isThere = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
  const isMarked = [element, element.parentElement].some((each) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(each);
    return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  });
  const isFrame = element.localName === "iframe";
  return {
    at: window.walked.indexOf(element),
    isSeen: isFrame || (isMarked && isThere && isFree),
    isOfChoice: element.type === "radio",
    isOfDate: element.type === "date",
  };
})()`;
