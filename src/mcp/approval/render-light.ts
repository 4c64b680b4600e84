import { countPacked } from "../../network/pack-page.ts";
import type { Preview } from "./approval-request.ts";
import { cutFact } from "./cut-facts.ts";
import { renderFacts } from "./page-facts.ts";
import { renderFrames, weighFrames } from "./page-frames.ts";

/** What a person is asked about, on a page that is no book: what is too long is a link away. */

/** Packed, so that together with all else a page has 60 KB. */
const mostOfFacts = 35_000;
const mostOfFrames = 35_000;

type Shown = { readonly facts: string; readonly frames: string };

/** The address is that of the approval page; left out, it is on the page itself. */
export function renderLight({ facts, frames }: Preview, address = ""): Shown {
  const whole = renderFacts(facts);
  const isLong = whole.length > mostOfFacts && countPacked(whole) > mostOfFacts;
  const areHeavy = frames !== undefined && weighFrames(frames) > mostOfFrames;
  const seen = frames === undefined || areHeavy ? "" : renderFrames(frames, address);
  if (!isLong && !areHeavy) return { facts: whole, frames: seen };
  const shown = isLong ? renderFacts(facts.map(cutFact)) : whole;
  const what = isLong ? "Long texts are cut here" : "The pages are too large to be shown here";
  const link = `<a href="${address}?whole=1">Show everything</a>`;
  const told = `<p class="warning"><strong>${what}.</strong> A yes is for all of it. ${link}</p>`;
  return { facts: shown + told, frames: seen };
}

export function renderWhole({ facts, frames }: Preview, address = ""): Shown {
  return {
    facts: renderFacts(facts),
    frames: frames === undefined ? "" : renderFrames(frames, address),
  };
}
