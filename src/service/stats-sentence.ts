import type { Sum } from "../stats/sums.ts";

/** What a person is told of a period in one sentence or two. */

type Told = {
  /** `The link spring`, `All links`. */
  readonly subject: string;
  readonly total: Sum;
  /** `from 2026-11-16 to 2026-11-22`. */
  readonly when: string;
  readonly previous?: { readonly total: Sum; readonly when: string } | undefined;
  /** The key with the most clicks, where there are several. */
  readonly most?: { readonly key: string; readonly clicks: number } | undefined;
  readonly isOver: boolean;
};

export function writeSentence(told: Told): string {
  const { most, total } = told;
  const isWorth = most !== undefined && most.clicks > 0 && most.clicks < total.click;
  return [
    tellTotal(told),
    ...(isWorth ? [`Most clicks: ${most.key} (${most.clicks.toLocaleString("en")}).`] : []),
  ].join(" ");
}

function tellTotal({ subject, total, when, previous, isOver }: Told): string {
  const soFar = isOver ? "" : " (so far)";
  const apps = [
    ...(total.open > 0 ? [countOf(total.open, "app open")] : []),
    ...(total.install > 0 ? [countOf(total.install, "install")] : []),
  ];
  const also = apps.length === 0 ? "" : `, ${apps.join(" and ")}`;
  const compared = previous === undefined ? "" : `, ${compare(total.click, previous)}`;
  const had = `${subject} had ${countOf(total.click, "click")}${also}`;
  return `${had} ${when}${soFar}${compared}.`;
}

function countOf(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

function compare(clicks: number, previous: NonNullable<Told["previous"]>): string {
  const { total, when } = previous;
  const before = `${total.click.toLocaleString("en")} ${when}`;
  if (clicks === total.click) return `as many as ${when}`;
  if (total.click === 0) return `compared with none ${when}`;
  const percent = Math.round((Math.abs(clicks - total.click) / total.click) * 100);
  const word = clicks > total.click ? "more" : "fewer";
  // What rounds to nothing is told by its numbers alone.
  return percent === 0 ? `${word} than the ${before}` : `${percent}% ${word} than the ${before}`;
}
