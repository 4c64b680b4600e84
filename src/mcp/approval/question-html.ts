import { compareWords, countLines, type TextPart, type Hunk } from "../../text/differences.ts";
import { escapeText } from "../../text/escape.ts";
import { showAddress } from "../../text/show-address.ts";
import { showHidden } from "../../text/show-hidden.ts";
import { writeLabel } from "../../text/write-label.ts";
import { signs, writeFactName, writeLine, writePlace } from "./question-text.ts";
import type { Fact, Frames, ChangedLine, Question } from "./question.ts";
import { writeAgo } from "./write-asking.ts";

/** Renders a question as HTML, for the approval page and the console. */

/** Warns about a recent change, because the user may remember the old state. */
export function renderRecent({ recent }: Question, now: number): string {
  if (recent === undefined) return "";
  const { at, by, was } = recent;
  const text = ` ${writeAgo(now - at)} by ${by}. Before that: ${was}`;
  return `<p class="warning"><strong>Changed</strong>${escapeText(text)}</p>`;
}

/** Renders all facts except a plan's rows, which are listed separately. */
export function renderFacts(facts: readonly Fact[]): string {
  const diffs = facts.filter((fact) => fact.kind === "diff");
  const others = facts.filter(({ kind, isRow }) => kind !== "diff" && isRow !== true);
  return `<dl>${others.map(renderFact).join("\n")}</dl>${renderDiffs(diffs)}`;
}

type DiffFact = Fact & { readonly kind: "diff" };

/** Renders text diffs collapsed, because most people only need to see how the page looks. */
function renderDiffs(diffs: readonly DiffFact[]): string {
  if (diffs.length === 0) return "";
  const counts = diffs.map(({ name, hunks }) => {
    return `${writeName(name)} +${countLines(hunks, "added")} −${countLines(hunks, "removed")}`;
  });
  const texts = diffs.map(({ name, note, hunks }) => {
    const more = note === undefined ? "" : `<p class="also">${escapeText(note)}</p>`;
    return `<h3>${escapeText(writeName(name))}</h3>
<div class="lines">${hunks.map(renderHunk).join("")}</div>${more}`;
  });
  const summary = `Changed lines: ${counts.join(", ")}`;
  return `<details class="diff"><summary>${escapeText(summary)}</summary>
${texts.join("\n")}</details>`;
}

function renderHunk(hunk: Hunk): string {
  const lines = hunk.lines.map(({ kind, text }) => {
    return `<div class="${kind}">${signs[kind]} ${escapeText(showHidden(text))}</div>`;
  });
  return `<div class="place">${writePlace(hunk)}</div>${lines.join("")}`;
}

function renderFact(fact: Fact): string {
  const note = fact.note === undefined ? "" : `<div class="also">${escapeText(fact.note)}</div>`;
  const body = renderValue(fact) + note + renderWarnings(fact.warnings ?? []);
  // A quoted name may be long, so it gets its own line.
  const look = fact.name.includes('"') ? ' class="wide"' : "";
  return `<div${look}><dt>${escapeText(writeName(fact.name))}</dt><dd>${body}</dd></div>`;
}

function writeName(name: string): string {
  return writeFactName(name, writeLabel);
}

function renderValue(fact: Fact): string {
  switch (fact.kind) {
    case "change":
      return renderChange(fact.from, fact.to);
    case "address":
      return renderAddress(fact.address);
    case "lines":
      return renderLines(fact.lines);
    case "diff":
      return "";
    case "list":
      return `<ul>${fact.items.map((item) => `<li>${escapeText(item)}</li>`).join("")}</ul>`;
    case undefined:
      return escapeText(fact.text);
  }
}

/** Shows the old value above the new one and marks the differences. Omits an unknown old value. */
export function renderChange(from: string | undefined, to: string): string {
  const { before, after } = compareWords(from ?? "", to);
  const old = from === undefined ? "" : renderSide("old", "Old", "del", before);
  return old + renderSide("new", "New", "ins", after);
}

function renderSide(
  side: "old" | "new",
  label: string,
  mark: "del" | "ins",
  parts: readonly TextPart[],
): string {
  return `<div class="${side}"><span class="side">${label}</span> ${markParts(parts, mark)}</div>`;
}

function markParts(parts: readonly TextPart[], mark: "del" | "ins"): string {
  const texts = parts.map(({ text, isChanged }) => {
    return isChanged ? `<${mark}>${escapeText(text)}</${mark}>` : escapeText(text);
  });
  // A URL may wrap anywhere, but text should wrap between words.
  const isWord = !parts.some(({ text }) => /\s/.test(text));
  return `<span class="value${isWord ? " word" : ""}">${texts.join("")}</span>`;
}

/** Shows a URL as visitors type it, and as browsers request it if that differs. */
function renderAddress(address: string): string {
  const shown = showAddress(address);
  const typed = shown?.typed ?? address;
  const sent =
    typed === address ? "" : `<div class="also">browsers request ${escapeText(address)}</div>`;
  return markParts([{ text: typed, isChanged: false }], "ins") + sent;
}

export function renderWarnings(warnings: readonly string[]): string {
  return warnings
    .map((warning) => `<p class="warning"><strong>Warning:</strong> ${escapeText(warning)}.</p>`)
    .join("");
}

/** Marks the changed words if as many lines were added as removed. */
function renderLines(lines: readonly ChangedLine[]): string {
  const removed = lines.filter(({ kind }) => kind === "removed");
  const added = lines.filter(({ kind }) => kind === "added");
  const isPaired = removed.length === added.length;
  const rendered = lines.map((line) => {
    const [own, others] = line.kind === "removed" ? [removed, added] : [added, removed];
    const other = isPaired ? others[own.indexOf(line)] : undefined;
    return renderLine(line, other);
  });
  return `<div class="lines">${rendered.join("")}</div>`;
}

function renderLine(line: ChangedLine, other: ChangedLine | undefined): string {
  const isAdded = line.kind === "added";
  const mark = isAdded ? "ins" : "del";
  // Compares the lines without their `+` or `−` sign.
  const [own, another] = [line, other].map((each) => each && writeLine(each).slice(2));
  const text = own ?? "";
  const compared = another === undefined ? undefined : compareWords(another, text);
  const parts = compared?.after ?? [{ text, isChanged: false }];
  return `<div class="${line.kind}">${isAdded ? "+" : "−"} ${markParts(parts, mark)}</div>`;
}

/**
 * Shows a page template before and after the change, in frames. The HTML is untrusted, so each
 * frame has its own URL and security policy. The HTML cannot run scripts, submit forms or load
 * anything.
 */

const devices = { phone: "On an iPhone", desktop: "On a computer" } as const;
type FrameDevice = keyof typeof devices;

const frameHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    "sandbox",
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    "img-src data:",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ].join("; "),
  "x-frame-options": "SAMEORIGIN",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
};

/** `address` is the URL of the approval page; the current page by default. */
export function renderFrames(frames: Frames | undefined, address = ""): string {
  if (frames === undefined) return "";
  const body =
    "left_out" in frames
      ? `<p>${escapeText(frames.left_out)}</p>`
      : `${renderDevice(frames.pages, "phone", address)}
${renderDevice(frames.pages, "desktop", address)}
<p class="hint">Images and scripts are turned off here, and buttons do nothing.</p>`;
  const head = `<h2 id="look">How the page looks</h2>`;
  return `<section aria-labelledby="look">\n${head}\n${body}\n</section>`;
}

type FramePages = Extract<Frames, { readonly pages: unknown }>["pages"];

function renderDevice(pages: FramePages, device: FrameDevice, address: string): string {
  const label = devices[device];
  const figures = pages.map(({ name }, index) => {
    const title = escapeText(`${name}, ${label}`);
    const frame = escapeText(`${address}?frame=${index}-${device}`);
    return `<figure>
<figcaption>${escapeText(name)}</figcaption>
<div><iframe src="${frame}" title="${title}" sandbox></iframe></div>
</figure>`;
  });
  return `<h3>${label}</h3>\n<div class="frames ${device}">\n${figures.join("\n")}\n</div>`;
}

export function answerFrame({ frames }: Question, params: URLSearchParams): Response | undefined {
  if (frames === undefined || "left_out" in frames) return undefined;
  const [, index, device] = /^(\d)-(phone|desktop)$/.exec(params.get("frame") ?? "") ?? [];
  const page = frames.pages[Number(index)];
  const html = device === "desktop" ? page?.desktop : page?.phone;
  return html === undefined ? undefined : new Response(html, { headers: frameHeaders });
}
