import { createHash } from "node:crypto";
import { icon, mark } from "../../look/mark.ts";
import { escapeText } from "../../text/escape-html.ts";
import type { Preview } from "./approval-request.ts";
import { renderFacts } from "./page-facts.ts";
import { renderFrames } from "./page-frames.ts";
import { renderPlanPage, type PlanPage } from "./page-rows.ts";
import { style } from "./page-style.ts";
import type { Asker } from "./person-asked.ts";
import { whatYesDoes, writeLead, writeOrigin, writeTerm } from "./write-asking.ts";
import { writeAgo } from "./write-span.ts";

/**
 * The text of the approval page. It has no script, is shown in no frame, and loads nothing but
 * frames of its own server, in which a page template is seen.
 */

export type Question = {
  readonly preview: Preview;
  readonly asker: Asker;
  readonly token: string;
  /** What was wrong with the last attempt. */
  readonly fault: string | undefined;
  /** Undefined where no PIN is asked for. */
  readonly pin: PinField | undefined;
  /** Why it can only be declined. */
  readonly blocked: string | undefined;
  readonly plan: PlanPage | undefined;
  readonly now: number;
  readonly created_at: number;
  readonly expires_at: number;
};

type PinField = { readonly left: number };

const styleHash = createHash("sha256").update(style).digest("base64");

export const pageHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    // The icon of the page itself, so that no browser asks for another one.
    "img-src data:",
    // How a page template looks, which is served beside this page and has a policy of its own.
    "frame-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; "),
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  // With no referrer at all a browser would send the form's origin as null.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

export function renderQuestion(question: Question): string {
  const { preview, fault, blocked, plan } = question;
  return renderPage(
    "Approve?",
    `<div>
<p class="lead">${escapeText(writeLead(question.asker))}</p>
<h1>${escapeText(preview.title)}</h1>
<p class="hint">${escapeText(writeOrigin(question))}</p>
</div>
${renderRecent(preview, question.now)}
${renderFrames(preview.frames)}
${renderFacts(preview.facts)}
${plan === undefined ? "" : renderPlanPage(plan)}
${fault === undefined && blocked === undefined ? "" : renderFault([fault, blocked])}
${renderForm(question)}`,
  );
}

/** Says how it ended or what is wrong, and of which act. */
export function renderNotice(title: string, text: string, end?: End): string {
  const subject = end === undefined ? "" : `<p class="act">${escapeText(end.act)}</p>\n`;
  const body = `<h1>${escapeText(title)}</h1>\n${subject}<p>${escapeText(text)}</p>`;
  return renderPage(title, body, end?.look);
}

/** Of which act it is the end, and whether a yes or a no. */
type End = { readonly act: string; readonly look: "approved" | "declined" };

/** Whoever knows the target as it was an hour ago is told that it is not so any more. */
export function renderRecent({ recent }: Pick<Preview, "recent">, now: number): string {
  if (recent === undefined) return "";
  const { at, by, was } = recent;
  const text = ` ${writeAgo(now - at)} by ${by}. Before that: ${was}`;
  return `<p class="warning"><strong>Changed</strong>${escapeText(text)}</p>`;
}

function renderFault(texts: readonly (string | undefined)[]): string {
  const told = texts.filter((text) => text !== undefined).join(" ");
  return `<p class="fault" role="alert">${escapeText(told)}</p>`;
}

function renderForm({ preview, token, pin, blocked, now, expires_at }: Question): string {
  const { button = "Approve", destroys = false, count } = preview;
  const look = destroys ? "main grave" : "main";
  const name = escapeText(button);
  const approve = `<button name="decision" value="approve" class="${look}">${name}</button>`;
  const fields = [
    ...(count === undefined ? [] : [renderCountField(count)]),
    ...(pin === undefined ? [] : [renderPinField(pin)]),
  ];
  return `<form method="post" class="stack">
<input type="hidden" name="token" value="${escapeText(token)}">
${blocked === undefined ? fields.join("\n") : ""}
<div class="buttons">
${blocked === undefined ? approve : ""}
<button name="decision" value="decline" formnovalidate>Decline</button>
</div>
</form>
<p class="hint">${blocked === undefined ? `${whatYesDoes} ` : ""}\
${writeTerm({ now, expires_at })}</p>`;
}

function renderCountField(count: number): string {
  return `<div class="field">
<label for="count">Type ${count}, the number of links</label>
<input id="count" name="count" inputmode="numeric" autocomplete="off" required>
</div>`;
}

function renderPinField({ left }: PinField): string {
  const tries = left === 1 ? "One try is left" : `${left} tries are left`;
  return `<div class="field">
<label for="pin">PIN</label>
<input id="pin" type="password" name="pin" autocomplete="off" required aria-describedby="tries">
<p class="hint" id="tries">The PIN set by the operator of this server. ${tries}.</p>
</div>`;
}

function renderPage(title: string, body: string, look?: End["look"]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="${icon}">
<title>${escapeText(title)} – Waypost</title>
<style>${style}</style>
</head>
<body>
<div class="alone">
<header><p class="brand">${mark} Waypost</p></header>
<main class="card question${look === undefined ? "" : ` ${look}`}">
${body.replace(/\n{2,}/g, "\n")}
</main>
</div>
</body>
</html>
`;
}

/** What every page says to a request under a name that is not ours, or of another method. */
export const elsewhere = renderNotice(
  "Wrong address",
  "Open the address exactly as your assistant gave it to you.",
);
export const wrongMethod = renderNotice(
  "This is a page for browsers",
  "Open the address in a browser.",
);
