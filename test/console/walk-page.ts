import type { Page } from "playwright-core";
import { expect } from "vitest";

/**
 * Goes through a page with the Tab key: all that can be pressed or typed is reached in the order in
 * which it stands, and whoever is there sees where they are.
 */
export async function walkPage(page: Page): Promise<void> {
  const all = await page.evaluate<readonly string[]>(begin);
  const reached: number[] = [0];
  const unseen: string[] = [];
  // A frame keeps the focus for as long as there is something in it.
  for (let turn = 0; turn < all.length + mostInFrames; turn += 1) {
    if (reached.at(-1) === all.length - 1) break;
    await page.keyboard.press("Tab");
    const { at, isSeen, isOfChoice, isOfDate } = await page.evaluate<Step>(look);
    if (isOfChoice) continue;
    // The field itself was seen; what is focused within it no script can look at.
    if (isOfDate && at === reached.at(-1)) continue;
    if (at !== reached.at(-1)) reached.push(at);
    if (!isSeen) unseen.push(all[at] ?? "nothing of the page");
  }
  expect(reached.map((at) => all[at])).toEqual(all);
  expect(unseen).toEqual([]);
}

type Step = {
  readonly at: number;
  readonly isSeen: boolean;
  /** Its label is what is seen of it. */
  readonly isOfChoice: boolean;
  /** It has parts of the browser's own, each reached by itself. */
  readonly isOfDate: boolean;
};

const mostInFrames = 40;

/** Of the buttons of a choice one is reached, and the arrows go on from it. */
const begin = `(() => {
  const kinds = "a[href], button, input, select, textarea, summary, iframe, [tabindex]";
  window.walked = [...document.querySelectorAll(kinds)].filter((element) =>
    element.tabIndex >= 0 && !element.disabled && element.type !== "radio" &&
    element.checkVisibility({ visibilityProperty: true }));
  window.walked[0]?.focus();
  return window.walked.map((element) =>
    element.outerHTML.replace(/value="[^"]*"/, "").replace(/\\s+/g, " ").slice(0, 120));
})()`;

/** With a line around it, or around what it fills, on the screen, and under nothing else. */
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
